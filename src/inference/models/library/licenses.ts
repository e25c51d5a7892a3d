// Reads a model's licence from its card's header, or from a GGUF file's metadata.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readGguf } from "../../../lib/model-files/gguf/gguf-file.ts";

const nameLengthMax = 100;

/** Returns the licence that the model card in a folder names; null if there is no card or it names none. */
export function readFolderLicense(folder: string): string | null {
  let card: string;
  try {
    card = readFileSync(join(folder, "README.md"), "utf8");
  } catch {
    // A missing card is no error, because many model folders have none and nothing depends on it.
    return null;
  }
  const header = /^---\r?\n([\s\S]{0,100000}?)\r?\n---\r?\n/.exec(card)?.[1] ?? "";
  const field = (name: string): string | null =>
    new RegExp(`^${name}:[ \\t]*["']?([^"'\\r\\n#]+?)["']?[ \\t]*$`, "m").exec(header)?.[1] ?? null;
  const license = field("license");
  return (
    (license === "other" ? (field("license_name") ?? license) : license)?.slice(0, nameLengthMax) ?? null
  );
}

/** Returns the licence that a GGUF file names; null if the file names none. */
export function readGgufLicense(file: string): string | null {
  const license = readGguf(file).metadata.get("general.license");
  return typeof license === "string" && license !== "" ? license.slice(0, nameLengthMax) : null;
}
