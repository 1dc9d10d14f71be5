"""Files outside of a workflow: a minimal workflow for each feature."""

from __future__ import annotations

from couler.ir.features import Feature
from couler.ir.workflow import Workflow
from tests.support.file_samples import FILE_SAMPLES

FILES: dict[Feature, Workflow] = {
    Feature.FILE_IN: FILE_SAMPLES["file-from-s3-key"],
    Feature.FILE_OUT: FILE_SAMPLES["file-to-s3"],
    Feature.FILE_S3: FILE_SAMPLES["file-from-s3"],
    Feature.FILE_OSS: FILE_SAMPLES["file-from-oss"],
    Feature.FILE_GCS: FILE_SAMPLES["file-from-gcs"],
    Feature.FILE_HDFS: FILE_SAMPLES["file-from-hdfs"],
    Feature.FILE_GIT: FILE_SAMPLES["directory-from-git"],
    Feature.FILE_AZURE: FILE_SAMPLES["file-from-azure"],
    Feature.FILE_HTTP: FILE_SAMPLES["file-from-http"],
    Feature.FILE_ARTIFACTORY: FILE_SAMPLES["file-from-artifactory"],
    Feature.FILE_RAW: FILE_SAMPLES["file-from-raw"],
    Feature.FILE_PLUGIN: FILE_SAMPLES["file-from-plugin"],
    Feature.FILE_ARCHIVE: FILE_SAMPLES["file-to-gcs"],
    Feature.FILE_OPTIONAL: FILE_SAMPLES["file-with-settings"],
    Feature.FILE_MODE: FILE_SAMPLES["file-with-settings"],
    Feature.FILE_REMOVAL: FILE_SAMPLES["file-to-azure"],
    Feature.FILE_OSS_BUCKET: FILE_SAMPLES["file-from-oss"],
    Feature.FILE_HDFS_KERBEROS: FILE_SAMPLES["file-from-hdfs"],
    Feature.FILE_REPOSITORY: FILE_SAMPLES["file-of-a-workflow-with-settings"],
    Feature.KEEP_LOGS: FILE_SAMPLES["log-kept"],
    Feature.LOG_LOCATION: FILE_SAMPLES["log-to-s3"],
}
