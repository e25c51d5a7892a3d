"""Starts SkyRL's server with its engine in this interpreter: `python launch.py --base-model <folder> --port <port> …`.

SkyRL's server normally starts its engine with `uv run` and its own flags. Here both run in the same environment, so no other
program is needed.
"""

import argparse
import sys

import uvicorn
from skyrl.tinker import api
from skyrl.tinker.config import EngineConfig, add_model, config_to_argv


def engine_command(_parent: list[str], config: EngineConfig) -> list[str]:
    return [sys.executable, "-m", "skyrl.tinker.engine", *config_to_argv(config)]


api._build_uv_run_cmd_engine = engine_command

parser = argparse.ArgumentParser()
add_model(parser, EngineConfig)
parser.add_argument("--host", default="127.0.0.1")
parser.add_argument("--port", type=int, required=True)
given = vars(parser.parse_args())
known = {name: value for name, value in given.items() if name in EngineConfig.model_fields}
api.app.state.engine_config = EngineConfig.model_validate(known)
uvicorn.run(api.app, host=given["host"], port=given["port"], log_level="warning")
