"""The application of the README's tour: `rota worker --app tour:app`."""

import time

from rota import App, Job

app = App()


@app.handler("receipt")
def receipt(job: Job) -> None:
    """Note that the receipt was written, in the transaction that completes the job."""
    assert isinstance(job.payload, dict)
    with job.transaction() as connection:
        connection.execute(
            "update purchase set receipt_at = now() where id = %s::bigint",
            [job.payload["purchase"]],
        )


@app.handler("stocktaking")
def stocktaking(job: Job) -> str:
    """Take a while."""
    time.sleep(20)
    return f"counted by execution {job.execution}"
