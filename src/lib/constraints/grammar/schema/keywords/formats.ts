// Patterns of the formats that Hone enforces. Each describes a whole text, and follows the document that defines the
// format.

const hour = "(?:[01]\\d|2[0-3])";
const minute = "[0-5]\\d";
/** Times: RFC 3339, section 5.6. A leap second is allowed only in UTC. */
const time = `(?:${hour}:${minute}:[0-5]\\d(?:\\.\\d+)?(?:[Zz]|[+-]${hour}:${minute})|23:59:60(?:\\.\\d+)?[Zz])`;
/** Dates: RFC 3339, limited to the days that each month has, including leap years. */
const leapYear = "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
const date =
  "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))" +
  `|${leapYear}-02-29)`;
/** Durations: RFC 3339, appendix A. */
const durationTime = "T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)";
const duration = `P(?:\\d+W|(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)(?:${durationTime})?|${durationTime})`;
/** Host names: RFC 1123, section 2.1. */
const label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const hostname = `${label}(?:\\.${label})*`;
/** IPv4 addresses: RFC 2673, section 3.2. */
const byte = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const ipv4 = `${byte}(?:\\.${byte}){3}`;
/** IPv6 addresses: RFC 4291, section 2.2, with up to seven groups around one `::`. */
const group = "[0-9A-Fa-f]{1,4}";
const lastGroups = `(?:${group}:${group}|${ipv4})`;
const ipv6 = [
  `(?:${group}:){6}${lastGroups}`,
  `::(?:${group}:){5}${lastGroups}`,
  `(?:${group})?::(?:${group}:){4}${lastGroups}`,
  ...[1, 2, 3].map(
    (before) => `(?:(?:${group}:){0,${before}}${group})?::(?:${group}:){${4 - before}}${lastGroups}`,
  ),
  `(?:(?:${group}:){0,4}${group})?::${lastGroups}`,
  `(?:(?:${group}:){0,5}${group})?::${group}`,
  `(?:(?:${group}:){0,6}${group})?::`,
].join("|");
/** URIs: RFC 3986, appendix A. IRIs, with characters beyond ASCII: RFC 3987. */
function reference(beyond: string, isAbsolute: boolean): string {
  const letter = `(?:[A-Za-z0-9._~!$&'()*+,;=:@${beyond}-]|%[0-9A-Fa-f]{2})`;
  const first = `(?:[A-Za-z0-9._~!$&'()*+,;=@${beyond}-]|%[0-9A-Fa-f]{2})`;
  const user = `(?:[A-Za-z0-9._~!$&'()*+,;=:${beyond}-]|%[0-9A-Fa-f]{2})*@`;
  const name = `(?:[A-Za-z0-9._~!$&'()*+,;=${beyond}-]|%[0-9A-Fa-f]{2})*`;
  const literal = `\\[(?:${ipv6}|[vV][0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]`;
  const authority = `//(?:${user})?(?:${literal}|${name})(?::\\d*)?(?:/${letter}*)*`;
  // RFC 3987 allows private-use characters only in the query.
  const inQuery = beyond === "" ? "[/?]" : "[/?\\ue000-\\uf8ff\\u{f0000}-\\u{ffffd}\\u{100000}-\\u{10fffd}]";
  const behind = `(?:\\?(?:${letter}|${inQuery})*)?(?:#(?:${letter}|[/?])*)?`;
  // RFC 3986 allows an address to end after the scheme's colon. No such address is in use, and common validators
  // refuse it.
  const path = `(?:${authority}|/(?:${letter}+(?:/${letter}*)*)?|${letter}+(?:/${letter}*)*)`;
  const absolute = `[A-Za-z][A-Za-z0-9+.-]*:${path}${behind}`;
  const relativePath = `(?:${authority}|/(?:${letter}+(?:/${letter}*)*)?|${first}+(?:/${letter}*)*)?`;
  return isAbsolute ? absolute : `(?:${absolute}|${relativePath}${behind})`;
}
/** URI templates: RFC 6570, section 2. */
const variable = "(?:\\w|%[0-9A-Fa-f]{2})(?:\\.?(?:\\w|%[0-9A-Fa-f]{2}))*(?::[1-9]\\d{0,3}|\\*)?";
const template = (beyond: string): string =>
  `(?:[!#$&-;=?-[\\]_a-z~${beyond}\\ue000-\\uf8ff\\u{f0000}-\\u{10fffd}]|%[0-9A-Fa-f]{2}|\\{[+#./;?&=,!@|]?${variable}(?:,${variable})*\\})*`;
/**
 * Address ranges (CIDR): RFC 4632, section 3.1, and RFC 4291, section 2.3. An address, and the number of bits in the
 * network prefix.
 */
const cidrv4 = `${ipv4}/(?:3[0-2]|[12]?\\d)`;
const cidrv6 = `(?:${ipv6})/(?:12[0-8]|1[01]\\d|[1-9]?\\d)`;
/** Base64: RFC 4648, sections 4 and 5. Padding is optional in base64url. */
const base64 = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?";
const base64url = "(?:[\\w-]{4})*(?:[\\w-]{2}(?:==)?|[\\w-]{3}=?)?";
const beyondAscii = "\\u00a0-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef\\u{10000}-\\u{efffd}";

const uuidOf = (version: number): string =>
  `[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-${version}[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}`;

const patterns: Readonly<Record<string, string>> = {
  "date-time": `${date}[Tt]${time}`,
  date,
  time,
  duration,
  /**
   * Email addresses: RFC 5321, section 4.1.2, but without quoted local parts, and with a dot in the host, as common
   * validators require.
   */
  email: `[A-Za-z0-9!#$%&'*+/=?^_\`{|}~-]+(?:\\.[A-Za-z0-9!#$%&'*+/=?^_\`{|}~-]+)*@${label}(?:\\.${label})+`,
  hostname: `(?=[^]{1,253}$)${hostname}`,
  ipv4,
  ipv6,
  uri: reference("", true),
  "uri-reference": reference("", false),
  iri: reference(beyondAscii, true),
  "iri-reference": reference(beyondAscii, false),
  "uri-template": template(beyondAscii),
  /** UUIDs: RFC 9562, section 4. `uuid1` to `uuid8` allow a single version each. */
  uuid: "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}",
  uuid1: uuidOf(1),
  uuid3: uuidOf(3),
  uuid4: uuidOf(4),
  uuid5: uuidOf(5),
  uuid6: uuidOf(6),
  uuid7: uuidOf(7),
  uuid8: uuidOf(8),
  /** JSON pointers: RFC 6901. */
  "json-pointer": "(?:/(?:[^~/]|~[01])*)*",
  "relative-json-pointer": "(?:0|[1-9]\\d*)(?:#|(?:/(?:[^~/]|~[01])*)*)",
  /** Formats from OpenAPI's format registry, Kubernetes, Pydantic and Zod. */
  byte: base64,
  base64,
  base64url,
  cidr: `(?:${cidrv4}|${cidrv6})`,
  cidrv4,
  cidrv6,
  ipvanyaddress: `(?:${ipv4}|${ipv6})`,
  /** Phone numbers: ITU-T E.164, section 6, with at most fifteen digits. */
  e164: "\\+[1-9]\\d{6,14}",
  /**
   * ULIDs (github.com/ulid/spec): 128 bits in Crockford's alphabet, five per letter. The first letter contains only
   * three bits.
   */
  ulid: "[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}",
  nanoid: "[\\w-]{21}",
};

const wholeNumbers = ["int", "uint"].flatMap((kind) => ["", 8, 16, 32, 64, 128].map((bits) => kind + bits));

/** Formats that describe numbers, bytes or the display of a value. They do not constrain strings. */
export const annotations = [...wholeNumbers, "float", "double", "password", "binary"];

export const isAnnotation = (format: string): boolean => annotations.includes(format);

export const formatNames: readonly string[] = Object.keys(patterns);

/** Returns a pattern for the whole text of a format; null for an unknown format. */
export function formatPattern(format: string): string | null {
  return Object.hasOwn(patterns, format) ? patterns[format] : null;
}
