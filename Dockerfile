# Two images. docs/install.md has the commands.
#   train      torch and every extra: trains, explains, exports
#   translate  the base install: translates, scores and evaluates by CTranslate2 (the last stage, built without --target)

FROM python:3.11-slim AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .


FROM python:3.11-slim AS train
# Where torch comes from, such as --build-arg TORCH_OPTIONS="--index-url URL" for a CPU-only or a particular CUDA build.
ARG TORCH_OPTIONS=""
COPY requirements.lock /tmp/requirements.lock
COPY --from=wheel /wheels /wheels
# hadolint ignore=SC2086
RUN pip install --no-cache-dir --constraint /tmp/requirements.lock ${TORCH_OPTIONS} torch \
    && pip install --no-cache-dir --constraint /tmp/requirements.lock --find-links /wheels "regard[all]" \
    && useradd --create-home --uid 10001 regard \
    && mkdir /runs \
    && chown regard:regard /runs
USER 10001
WORKDIR /runs
VOLUME /runs
HEALTHCHECK --interval=5m --timeout=30s CMD ["regard", "--version"]
ENTRYPOINT ["regard"]
CMD ["--help"]


FROM python:3.11-slim AS translate
COPY requirements.lock /tmp/requirements.lock
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir --constraint /tmp/requirements.lock --find-links /wheels regard \
    && useradd --create-home --uid 10001 regard
USER 10001
WORKDIR /home/regard
# Healthy: a model is mounted at /model, and every file of it has the hash of its manifest.
HEALTHCHECK --interval=5m --timeout=30s CMD ["regard", "info", "/model"]
ENTRYPOINT ["regard"]
CMD ["translate", "/model"]
