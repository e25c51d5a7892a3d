// This package itself: where it lies, its version, and the base model that comes with it.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BaseModel } from "../../base/domain/model.ts";

/** The folder that holds package.json, above the sources and above the build. */
export function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json")) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

/** The base model that needs no download. It is too small to be trusted with every client's tools, so calls are off. */
export function builtInModel(): BaseModel {
  const name = "hone-tiny";
  return {
    name,
    folder: join(packageFolder(), "models", name),
    engine: { kind: "embedded" },
    toolCalls: "off",
  };
}

/** The version of this package. */
export function packageVersion(): string {
  return manifest().version;
}

/** Which versions of Node it works with, such as `>=20.19`. */
export function nodeVersions(): string {
  return manifest().engines.node;
}

function manifest(): { readonly version: string; readonly engines: { readonly node: string } } {
  // The file is this package's own.
  return JSON.parse(readFileSync(join(packageFolder(), "package.json"), "utf8")) as ReturnType<
    typeof manifest
  >;
}
