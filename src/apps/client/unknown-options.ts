// Refuses unknown options, which plain JavaScript would ignore silently. Pure.
import { HoneError } from "./hone-error.ts";

/**
 * @param of owner of the options, for the message
 * @throws HoneError `invalid` that names the first option not among `names`, and the likely intended one
 */
export function refuseUnknown(options: object, names: readonly string[], of: string): void {
  const unknown = Object.entries(options).find(
    ([name, value]) => value !== undefined && !names.includes(name),
  );
  if (unknown === undefined) return;
  const [name] = unknown;
  const meant = names.find((known) => plain(known) === plain(name));
  const cure = meant === undefined ? `it has ${names.join(", ")}.` : `did you mean ${meant}?`;
  throw new HoneError({ code: "invalid", param: name, message: `${of} has no option ${name}; ${cure}` });
}

/** Normalizes case and underscores, the usual differences in spelling. */
function plain(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}
