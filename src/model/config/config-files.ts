// The two files of a model folder that say what the model is, as JSON; what they mean is read elsewhere.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../domain/service-error.ts";
import type { JsonObject } from "./config-reader.ts";

export interface ConfigFiles {
  readonly config: JsonObject;
  /** generation_config.json; empty where there is none. */
  readonly generation: JsonObject;
}

/** @throws ServiceError `not_found` without a config.json, `invalid` for a file that does not parse */
export function readConfigFiles(folder: string): ConfigFiles {
  const config = readJson(folder, "config.json");
  if (config === null) {
    throw new ServiceError({
      code: "not_found",
      message: `${folder} has no config.json; a model is a folder in the Hugging Face layout.`,
    });
  }
  return { config, generation: readJson(folder, "generation_config.json") ?? {} };
}

function readJson(folder: string, name: string): JsonObject | null {
  const file = join(folder, name);
  if (!existsSync(file)) return null;
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    throw new ServiceError({ code: "invalid", message: `${file} is not valid JSON; copy it again.`, cause });
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new ServiceError({ code: "invalid", message: `${file} is not a JSON object; copy it again.` });
  }
  return value as JsonObject;
}

/** One id or a list of them; config.json counts where generation_config.json names none. */
export function readEndOfTextIds(config: JsonObject, generation: JsonObject): readonly number[] {
  const ids = generation["eos_token_id"] ?? config["eos_token_id"];
  return (Array.isArray(ids) ? ids : [ids]).filter((id) => Number.isInteger(id));
}
