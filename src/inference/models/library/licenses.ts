// The licence of a model, as its files name it: in its card's header, or in a GGUF file's metadata.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readGguf } from "../../../lib/model-files/gguf/gguf-file.ts";

const nameLengthMax = 100;

/** What the card in a model folder says; null where there is none, or it does not say. */
export function licenseOfFolder(folder: string): string | null {
  let card: string;
  try {
    card = readFileSync(join(folder, "README.md"), "utf8");
  } catch {
    // Models have no card more often than not; nothing depends on it.
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

/** What a GGUF file says; null where it does not. */
export function licenseOfGguf(file: string): string | null {
  const license = readGguf(file).metadata.get("general.license");
  return typeof license === "string" && license !== "" ? license.slice(0, nameLengthMax) : null;
}
