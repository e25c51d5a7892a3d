// Facts about this package: its folder, its version, and its built-in base model.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BaseModel } from "../../base/domain/model.ts";

/** Returns the folder with package.json, which contains both the sources and the build. */
export function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json")) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

/**
 * Returns the base model that is part of the package, so it needs no download. Tool calls are off, because the model
 * is too small for the tools of typical clients.
 */
export function builtInModel(): BaseModel {
  const name = "hone-tiny";
  return {
    name,
    folder: join(packageFolder(), "models", name),
    engine: { kind: "embedded" },
    toolCalls: "off",
  };
}

/** Returns the version of this package. */
export function packageVersion(): string {
  return manifest().version;
}

/** Returns the supported versions of Node.js, such as `>=20.19`. */
export function nodeVersions(): string {
  return manifest().engines.node;
}

function manifest(): { readonly version: string; readonly engines: { readonly node: string } } {
  // Safe cast: the file is part of this package.
  return JSON.parse(readFileSync(join(packageFolder(), "package.json"), "utf8")) as ReturnType<
    typeof manifest
  >;
}
