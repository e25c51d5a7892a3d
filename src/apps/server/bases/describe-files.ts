// Describes the files of a base model for lists of models.
import { statSync } from "node:fs";
import type { BaseModel } from "../../../base/domain/model.ts";
import type { ListedBase } from "../../../api/wire/models/served-model.ts";
import { readModelConfig } from "../../../inference/architectures/config/read-config.ts";
import { readConfigFiles } from "../../../inference/architectures/config/served-config.ts";
import { countParameters } from "../../../inference/architectures/parameters.ts";
import { readFolderLicense } from "../../../inference/models/library/licenses.ts";
import { hasWeights, weightFilesOf } from "../../../lib/model-files/weight-files.ts";

type Described = NonNullable<ListedBase["files"]>;

/** @param precision precision in which the weights are computed; undefined for float32 */
export function describeFiles(
  { folder, license, engine }: BaseModel,
  precision: string | undefined,
): Described {
  const files = hasWeights(folder) ? weightFilesOf(folder) : [];
  const { model_type: architecture } = readConfigFiles(folder).config;
  const isGguf = files.some((file) => file.endsWith(".gguf"));
  return {
    weightBytes: files.reduce((sum, file) => sum + statSync(file).size, 0),
    license: license ?? readFolderLicense(folder),
    format: files.length === 0 ? null : isGguf ? "gguf" : "safetensors",
    architecture: typeof architecture === "string" ? architecture : "unknown",
    size: engine.kind === "embedded" ? sizeOf(folder) : null,
    precision: precision ?? "float32",
  };
}

function sizeOf(folder: string): Described["size"] {
  const config = readModelConfig(folder);
  return { parameterCount: countParameters(config), width: config.width };
}
