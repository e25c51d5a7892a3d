// Computes the digests that identify data published by clients of traces. Some clients compute a digest before they
// send the data, so this server must use the same algorithms. Clients hash the output of Python's `json.dumps(value,
// sort_keys=True)`.
import { createHash } from "node:crypto";
import {
  ExactNumber,
  isExactList,
  isExactObject,
  type ExactJson,
} from "../../base/domain/text/exact-json.ts";

/**
 * Returns a value's JSON as Python writes it: keys in code point order, a space after commas and colons, and all
 * non-ASCII characters escaped.
 *
 * @param value nested at most as deeply as request bodies, because this function recurses
 */
export function canonicalText(value: ExactJson): string {
  if (typeof value === "number") return pythonNumber(String(value));
  if (value instanceof ExactNumber) return pythonNumber(value.text);
  if (typeof value === "string") return asciiText(value);
  if (isExactList(value)) return `[${value.map(canonicalText).join(", ")}]`;
  if (!isExactObject(value)) return String(value);
  const members = Object.entries(value).sort(([one], [other]) => compareCodePoints(one, other));
  return `{${members.map(([key, member]) => `${asciiText(key)}: ${canonicalText(member)}`).join(", ")}}`;
}

/** Returns the digest of a value's canonical text. It identifies a version of an object, or a row of a table. */
export function textDigest(canonical: string): string {
  return bytesDigest(Buffer.from(canonical));
}

/**
 * Returns the digest of a file: 43 characters of base64url, in which X and Y replace the two non-alphanumeric
 * characters.
 */
export function bytesDigest(bytes: Uint8Array): string {
  return asDigest(createHash("sha256").update(bytes).digest());
}

/** Formats a SHA-256 hash as a digest. */
export function asDigest(sha256: Buffer): string {
  return sha256.toString("base64url").replaceAll("-", "X").replaceAll("_", "Y");
}

/** Returns the digest of a table: the hex SHA-256 of the concatenated digests of its rows. */
export function tableDigest(rowDigests: string): string {
  return createHash("sha256").update(rowDigests).digest("hex");
}

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

function asciiText(text: string): string {
  const escape = (unit: string): string =>
    shortEscapes[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `"${text.replaceAll(/["\\]|[^ -~]/g, escape)}"`;
}

/**
 * Compares texts by code points; negative if `one` sorts first. JavaScript compares UTF-16 units, which sorts
 * characters outside the basic plane differently.
 */
function compareCodePoints(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index++) {
    const difference = (one.codePointAt(index) ?? 0) - (other.codePointAt(index) ?? 0);
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/**
 * Formats a JSON number as Python does after parsing it: integers with all digits, other numbers as `repr` of a double.
 */
function pythonNumber(text: string): string {
  if (/^-?\d+$/.test(text)) return text === "-0" ? "0" : text;
  const value = Number(text);
  const sign = text.startsWith("-") ? "-" : "";
  const [mantissa, power] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length === 1 ? "" : `.${digits.slice(1)}`;
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}
