// What a check finds in a value: faults, each with its place, and fields that nothing reads. The first part of a place
// says where the value came from, such as `body`; the rest leads into it.
import { cut, ServiceError, type Fault } from "../domain/service-error.ts";

/** Faults and unknown fields, as they are found; `path` is where the walk stands. */
export interface Findings {
  readonly path: string[];
  /** The first ones; the rest is only counted. */
  readonly faults: Fault[];
  /** Of all that were found. */
  faultCount: number;
  /**
   * Dotted names of unknown fields, by the same names with `*` for list indices: of the items of a list only the first
   * that has a field is named.
   */
  readonly ignored: Map<string, string>;
}

/** Beyond this many the rest is only counted: an answer must stay readable. */
const faultCountMax = 100;
const moreFaults = "more_faults";
/** A value with this many faults is looked at no further. */
const countedMax = 10_000;
/** A header has room for the names of fewer. */
const ignoredCountMax = 100;

export function newFindings(...path: readonly string[]): Findings {
  return { path: [...path], faults: [], faultCount: 0, ignored: new Map() };
}

/** Adds a fault at the current place, or below it. */
export function report(findings: Findings, type: string, message: string, ...below: readonly string[]): void {
  findings.faultCount += 1;
  if (findings.faults.length < faultCountMax) {
    findings.faults.push({ location: [...findings.path, ...below], message, type });
  }
}

/** Notes an unknown field at the current place, or below it. */
export function ignore(findings: Findings, ...below: readonly string[]): void {
  const { ignored } = findings;
  if (ignored.size >= ignoredCountMax) return;
  const path = [...findings.path.slice(1), ...below];
  const pattern = path.map((part) => (/^\d+$/.test(part) ? "*" : part)).join(".");
  if (!ignored.has(pattern)) ignored.set(pattern, path.join("."));
}

/** Whether so many faults were found that no more are looked for. */
export function isAtFaultLimit({ faultCount }: Findings): boolean {
  return faultCount >= countedMax;
}

/** @throws ServiceError `invalid` with the first faults and the count of the rest, when there is one */
export function refuseFaults(findings: Findings): void {
  if (findings.faultCount === 0) return;
  const faults = firstFaults(findings.faults, findings.faultCount);
  throw new ServiceError({ code: "invalid", message: summary(findings.faults, findings.faultCount), faults });
}

/**
 * At most {@link faultCountMax} of the faults, and one that counts the rest where there are more; what was cut so
 * before stays.
 */
export function firstFaults(faults: readonly Fault[], count = faults.length): readonly Fault[] {
  if (faults.length === faultCountMax + 1 && faults.at(-1)?.type === moreFaults) return faults;
  const first = faults.slice(0, faultCountMax);
  const rest = count - first.length;
  if (rest === 0) return first;
  const message = `${restOf(count, first.length)} more faults are not listed.`;
  return [...first, { location: faults[0]?.location.slice(0, 1) ?? [], message, type: moreFaults }];
}

/** The faults in one text, the first ten in words. */
function summary(faults: readonly Fault[], count: number): string {
  const words = faults.slice(0, 10).map(({ location, message }) => {
    const name = location
      .slice(1)
      .map((part) => cut(part))
      .join(".");
    return name === "" ? message : `${name}: ${message}`;
  });
  return words.join("; ") + (count > words.length ? `; and ${restOf(count, words.length)} more` : "");
}

function restOf(count: number, shown: number): string {
  return `${count >= countedMax ? "at least " : ""}${count - shown}`;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Visits the objects of a list, and nothing if it is no list. */
export function eachObject(
  list: unknown,
  visit: (value: Readonly<Record<string, unknown>>, index: string) => void,
): void {
  if (!Array.isArray(list)) return;
  list.forEach((value: unknown, index) => {
    if (isObject(value)) visit(value, String(index));
  });
}
