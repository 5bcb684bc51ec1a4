"""The smallest application: run it with `rota worker --app hello:app`."""

from rota import App, Job

app = App()


@app.handler("hello")
def hello(job: Job) -> str:
    """Greet whom the payload names."""
    payload = job.payload
    name = payload.get("name") if isinstance(payload, dict) else None
    return f"hello {name or 'you'}"
