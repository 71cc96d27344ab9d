# Heads Up in a container, without GPU support:
#   docker build -t heads-up .          docker run -p 8501:8501 -v heads-up:/data heads-up
# If other machines open it, list all host names and addresses that they use:
#   docker run -e STREAMLIT_SERVER_ALLOWED_HOSTS="class.example.org 192.168.1.20" …
# On Linux, pip installs torch with CUDA by default. The CPU build has a third of its size; for it, add
# --build-arg PIP_EXTRA_INDEX_URL=<the CPU index address on pytorch.org's install page>
FROM python:3.11-slim-bookworm AS built

ARG PIP_EXTRA_INDEX_URL
ARG REQUIREMENTS=requirements.txt
ENV PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /src
COPY requirements.txt requirements-cluster.txt ./
RUN python -m venv /app && /app/bin/pip install --requirement "$REQUIREMENTS"

# Remove headers, compilers and tests of the installed packages, a quarter of the size: the app needs none of them.
WORKDIR /app/lib/python3.11/site-packages
RUN rm -rf torch/test torch/include torch/bin/protoc* torch/bin/*test* pyarrow/include pip pip-* \
    && find . -type d -name tests -prune -exec rm -rf {} +

WORKDIR /src
COPY . .
RUN python -m pip wheel . --no-deps --wheel-dir /wheel \
    && python -m pip --python /app/bin/python install --no-deps /wheel/*.whl

FROM python:3.11-slim-bookworm

LABEL org.opencontainers.image.title="Heads Up" \
      org.opencontainers.image.licenses="MIT AND CC-BY-2.0"

# /data stores the training runs, and Python's bytecode for a faster next start.
RUN useradd --uid 1000 --create-home heads && mkdir /data && chown heads /data
COPY --from=built /app /app
ENV PATH=/app/bin:$PATH PYTHONPYCACHEPREFIX=/data/compiled HEADS_UP_RUNS=/data/runs

USER 1000
WORKDIR /data
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://localhost:8501/_stcore/health', timeout=4)"]

CMD ["heads-up", "--server.address", "0.0.0.0", "--server.headless", "true"]
