// Parses model names in requests, in all accepted spellings, and defines which characters names may have. Does not
// check that a model exists.
import { parseFineTunedName } from "../../../base/domain/fine-tuning/fine-tuned-name.ts";
import type { TrainedModel } from "../../../base/domain/model.ts";

export interface ModelReference {
  /** Path of the model in one of three forms: `name`, `project, name` or `entity, project, name`. */
  readonly path: readonly string[];
  /** Requested version; null if the text after the colon names no version. */
  readonly version: "newest" | number | null;
}

/**
 * Parses `name`, `project/name`, `entity/project/name` or `<scheme>:///entity/project/name` (also with two slashes),
 * each optionally followed by `:stepN` or `:latest`, and names of fine-tuned models (`ft:…`). Returns null for any
 * other text. The scheme is arbitrary, or the literal text `<scheme>` from the interface document.
 */
export function parseModelName(text: string): ModelReference | null {
  const fineTuned = parseFineTunedName(text);
  if (fineTuned !== null) return { path: [fineTuned.modelId], version: fineTuned.step ?? "newest" };
  const withScheme = /^(?:<scheme>|[a-z][a-z0-9+.-]*):\/\/\/?(.*)$/is.exec(text);
  const [path, version] = splitVersion(withScheme ? withScheme[1] : text);
  const segments = path.split("/");
  if (segments.length > 3 || segments.includes("")) return null;
  if (withScheme && segments.length !== 3) return null;
  return { path: segments, version };
}

function splitVersion(text: string): readonly [path: string, version: ModelReference["version"]] {
  const colon = text.indexOf(":", text.lastIndexOf("/") + 1);
  if (colon < 0) return [text, "newest"];
  const alias = text.slice(colon + 1);
  const step = /^step(\d{1,9})$/.exec(alias);
  const version = step ? Number(step[1]) : alias === "latest" ? "newest" : null;
  return [text.slice(0, colon), version];
}

/** Returns the full name of a model, which is unambiguous and refers to its newest version. */
export function fullName({ entity, project, name }: TrainedModel): string {
  return `${entity}/${project}/${name}`;
}

/** Returns the full name of one version of a model. */
export function versionName(model: TrainedModel, step: number): string {
  return `${fullName(model)}:step${step}`;
}

/** True if a text can be the entity, project or name in `entity/project/name:stepN`. */
export function isNamePart(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what must not be in a name
  return !/[\s/:\u0000-\u001f\u007f\p{Surrogate}]/u.test(text);
}

/**
 * True if a name is safe as a part of a path or URL, where dots mean folders and a percent sign escapes a character.
 * Names of new entities must be safe.
 */
export function isPlainPart(text: string): boolean {
  return isNamePart(text) && !["", ".", ".."].includes(text) && !/%[0-9a-f]{2}/i.test(text);
}
