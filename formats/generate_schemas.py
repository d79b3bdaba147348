# SPDX-License-Identifier: BSD-3-Clause
"""Write the JSON schemas of this folder from the types that read and write the files; tests compare them.

Usage: python formats/generate_schemas.py
"""

import json
from pathlib import Path

from rankwise.cli.place_document import json_schema as place_schema
from rankwise.cli.predict_document import json_schema as prediction_schema
from rankwise.compare.comparison import json_schema as comparison_schema
from rankwise.compare.scaling import json_schema as scaling_schema
from rankwise.lab.validation.result import json_schema as validation_schema
from rankwise.machine.file import json_schema as machine_schema
from rankwise.placement.file import json_schema as placement_schema
from rankwise.record.manifest import json_schema as recording_schema
from rankwise.report.data import json_schema as report_schema
from rankwise.study.result import json_schema as study_schema
from rankwise.study.result import list_json_schema as studies_schema
from rankwise.tune.document import json_schema as tune_schema

SCHEMAS = {
    "comparison.schema.json": comparison_schema,
    "machine.schema.json": machine_schema,
    "place.schema.json": place_schema,
    "placement.schema.json": placement_schema,
    "prediction.schema.json": prediction_schema,
    "recording.schema.json": recording_schema,
    "report.schema.json": report_schema,
    "scaling.schema.json": scaling_schema,
    "studies.schema.json": studies_schema,
    "study.schema.json": study_schema,
    "tune.schema.json": tune_schema,
    "validation.schema.json": validation_schema,
}


def text_of(schema: dict) -> str:
    """A schema as it is kept in a file."""
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2) + "\n"


if __name__ == "__main__":
    for name, schema in SCHEMAS.items():
        (Path(__file__).parent / name).write_text(text_of(schema()), encoding="utf-8")
