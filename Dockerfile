# scirgen with the embedded model, PDF parsing and the report, on the CPU:
#   docker build -t scirgen .
#   docker run --rm -v "$PWD/runs:/data/runs" scirgen generate --domain geo --out runs/demo
FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir --prefix=/install --constraint constraints.txt '.[local,pdf,release,sources]'

FROM python:3.11-slim
COPY --from=build /install /usr/local
RUN useradd --create-home --uid 1000 scirgen && mkdir /data && chown scirgen /data
USER scirgen
WORKDIR /data
ENTRYPOINT ["scirgen"]
CMD ["--help"]
