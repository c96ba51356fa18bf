# scirgen with the embedded model, PDF parsing and the report, on the CPU:
#   docker build -t scirgen .
#   docker run --rm -v "$PWD:/data" -v scirgen-cache:/cache scirgen generate --domain geo --out runs/demo
# The process is user 1000 and writes to /data (your folder) and /cache (models). If `id -u` is not 1000, add --user "$(id -u)".
FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir --prefix=/install --constraint constraints.txt '.[local,pdf,release,sources]'

FROM python:3.11-slim
COPY --from=build /install /usr/local
RUN useradd --no-create-home --uid 1000 scirgen && mkdir /data /cache && chown scirgen /data /cache && chmod 1777 /cache
# The name is for libraries that ask for one where --user has no account.
ENV HOME=/cache XDG_CACHE_HOME=/cache USER=scirgen
USER 1000
WORKDIR /data
ENTRYPOINT ["scirgen"]
CMD ["--help"]
