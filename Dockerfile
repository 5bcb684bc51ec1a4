FROM python:3.13-slim
COPY . /source
RUN pip install --no-cache-dir /source && rm -r /source && useradd rota
USER rota
ENTRYPOINT ["rota"]
