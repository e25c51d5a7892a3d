// Options that do not exist, which plain JavaScript would pass without a word. Pure.
import { HoneError } from "./hone-error.ts";

/**
 * @param of what takes the options, for the message
 * @throws HoneError `invalid` naming the first option that is not among `names`, and the one that was likely meant
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

/** Without case and underscores, in which spellings differ. */
function plain(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}
