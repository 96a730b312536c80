# Canonry as one image; what a container does is the command: `worker decode`, `consumer catalog`, `topics apply` ...
FROM python:3.11.14-slim-bookworm

# libmagic1: formats are recognised by content. libarchive-tools: bsdtar reads compressed members of RAR archives.
# tesseract: the text of pages that are pictures; add tesseract-ocr-<language> for more languages.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libmagic1 libarchive-tools tesseract-ocr tesseract-ocr-eng \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /var/lib/canonry canonry \
    && install -d -o canonry -g canonry /var/lib/canonry

WORKDIR /opt/canonry
COPY pyproject.toml README.md LICENSE requirements-dev.lock topics.yaml ./
COPY schemas schemas
COPY streams streams
# The versions that the tests ran with; the development tools among them are not installed.
RUN sed -nE 's/^([A-Za-z0-9][A-Za-z0-9._-]*==[^\\]*).*/\1/p' requirements-dev.lock > /tmp/constraints.txt \
    && pip install --no-cache-dir --constraint /tmp/constraints.txt . \
    && rm /tmp/constraints.txt

USER canonry
WORKDIR /var/lib/canonry
ENV CANONRY_DATA_DIR=/var/lib/canonry PYTHONUNBUFFERED=1
ENTRYPOINT ["canonry"]
CMD ["--help"]
