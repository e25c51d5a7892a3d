// Reads preferences one by one, and converts them to their stored form. They come from a list in a body, or from a file
// with one per line.
import { foldedLine } from "../../../base/domain/text/folded-lines.ts";
import { newFindings, refuseFaults, type Findings } from "../../../base/validation/findings.ts";
import type { BodyLimits } from "../body-limits.ts";
import { LinePacker, type PackedLines } from "../packed-lines.ts";
import { readLineFile } from "../supervised/line-file.ts";
import { readPreference } from "./read-preference.ts";

export interface StoredPreferences {
  readonly lines: PackedLines;
  readonly preferenceCount: number;
  /** Index of the first preference with a single answer, which only KTO accepts; null if all have two. */
  readonly firstSingle: number | null;
}

/** Checks preferences one by one. Also packs them for storage until the first fault. */
export class PreferenceReader {
  readonly #findings: Findings;
  readonly #takesSingles: boolean;
  readonly #lines = new LinePacker();
  #count = 0;
  #firstSingle: number | null = null;

  constructor(findings: Findings, { takesSingles }: { readonly takesSingles: boolean }) {
    this.#findings = findings;
    this.#takesSingles = takesSingles;
  }

  /**
   * Checks a preference, and packs it for storage.
   *
   * @param place path of the preference, relative to the findings' current path
   */
  read(value: unknown, ...place: readonly string[]): void {
    const findings = this.#findings;
    findings.path.push(...place);
    const preference = readPreference(value, findings, { takesSingles: this.#takesSingles });
    findings.path.length -= place.length;
    const index = this.#count++;
    if (preference === null) return;
    if (preference.chosen === null || preference.rejected === null) this.#firstSingle ??= index;
    if (findings.faultCount > 0) return;
    for (const part of foldedLine(JSON.stringify(preference))) this.#lines.add(part);
  }

  get stored(): StoredPreferences {
    return {
      lines: this.#lines.packed(),
      preferenceCount: this.#count,
      firstSingle: this.#firstSingle,
    };
  }
}

/**
 * Request field in which the faults of a file are reported. A job gives the file's id in `file_id`, while an upload
 * contains the file in a form field.
 */
const fileFields = { "preference file": "file_id", "uploaded file": "file" } as const;

/**
 * Reads a file that has one preference per line, as JSON. The caller must check that the job's loss accepts single
 * answers.
 *
 * @throws ServiceError `invalid` with every fault and the line of each
 */
export function readPreferenceFile(
  bytes: Buffer,
  limits: Pick<BodyLimits, "trajectoryGroups" | "trajectoryJson">,
  kind: keyof typeof fileFields,
): StoredPreferences {
  const findings = newFindings("body", fileFields[kind]);
  const reader = new PreferenceReader(findings, { takesSingles: true });
  readLineFile(bytes, limits, {
    findings,
    holds: { one: "preference", many: "preferences" },
    read: (value, place) => reader.read(value, place),
  });
  refuseFaults(findings);
  return reader.stored;
}

/** True if the parsed line of a file is a preference; false if it is a conversation. */
export function isPreference(value: unknown): boolean {
  const fields = ["chosen", "rejected", "completion", "preferred_output", "non_preferred_output"];
  return typeof value === "object" && value !== null && fields.some((field) => field in value);
}
