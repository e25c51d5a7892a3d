// Identifies callers who have no API key: by a header in which a reverse proxy sends the user's name, or by a token of
// an OpenID Connect issuer.
import { BlockList, isIP } from "node:net";
import type { Caller } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { isLoopback } from "../../base/domain/loopback.ts";
import { cut, invalid, quoted, type ServiceError } from "../../base/domain/service-error.ts";
import { callerOf, isUserName, readGroupRules, type SignedInUser } from "./group-rules.ts";
import { createIdTokens, isTokenLike } from "./id-tokens.ts";
import type { UserSettings } from "./settings.ts";
import { unauthorized } from "./user-errors.ts";

/** Headers of a request, by name in lower case. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface SignedInUsers {
  /**
   * Returns the user whom a proxy's headers name; null if no header names a user.
   *
   * @param address remote address of the connection
   * @throws ServiceError `unauthorized` if such a header comes from an address that is not a trusted proxy; also the
   * errors of `ofToken`
   */
  readonly ofHeaders: (headers: Headers, address: string) => Promise<Caller | null>;
  /**
   * Returns the user identified by a token that a client sent in place of a key; null if the text is not a token.
   *
   * @throws ServiceError `unauthorized` for an invalid token, `forbidden` for a user without a configured group,
   * `unavailable` if the issuer cannot be reached
   */
  readonly ofToken: (secret: string) => Promise<Caller | null>;
}

interface UserOptions {
  readonly settings: UserSettings;
  /** Entity of administrators, and of all users if no groups are configured. */
  readonly defaultEntity: string;
  readonly clock: Clock;
}

const nobody: SignedInUsers = { ofHeaders: async () => null, ofToken: async () => null };

/** @param options `settings` must have passed `checkUserSettings` */
export function createSignedInUsers({ settings, defaultEntity, clock }: UserOptions): SignedInUsers {
  const rules = readGroupRules(settings.groups);
  const asCaller = (user: SignedInUser): Caller => callerOf(user, rules, defaultEntity);
  const { header, groupsHeader, issuer, audience, tokenHeader, nameClaim, groupsClaim } = settings;
  if (header !== null) {
    const isProxy = createTrustedProxies(settings.proxies);
    return {
      ...nobody,
      ofHeaders: async (headers, address) => {
        const name = textOf(headers, header);
        if (name === "") return null;
        if (!isProxy(address)) throw notAProxy(header, address);
        if (!isUserName(name)) throw unauthorized(`${header} holds no name of a user`);
        const groups = groupsHeader === null ? [] : textOf(headers, groupsHeader).split(",");
        return asCaller({ name, groups: groups.map((group) => group.trim()) });
      },
    };
  }
  if (issuer === null || audience === null) return nobody;
  const tokens = createIdTokens({ issuer, audience, clock });
  const ofToken: SignedInUsers["ofToken"] = async (secret) => {
    if (!isTokenLike(secret)) return null;
    const claims = await tokens.claimsOf(secret);
    const name = claims[nameClaim];
    if (!isUserName(name))
      throw unauthorized(
        `The token has no claim ${quoted(nameClaim)} with a user's name; see users.nameClaim`,
      );
    requireVerified(claims, nameClaim);
    const groups = [claims[groupsClaim]].flat().filter((group) => typeof group === "string");
    return asCaller({ name, groups });
  };
  return {
    ofToken,
    ofHeaders: async (headers) => {
      const token = tokenHeader === null ? "" : textOf(headers, tokenHeader).replace(/^Bearer /i, "");
      if (token === "") return null;
      const caller = await ofToken(token);
      if (caller === null) throw unauthorized(`${tokenHeader} holds no token`);
      return caller;
    },
  };
}

/**
 * Refuses a token whose claim `<nameClaim>_verified` says that the issuer has not verified the user name. Users may
 * declare `email` and `phone_number` themselves, so the issuer reports its check in `email_verified` and
 * `phone_number_verified` (OpenID Connect Core 1.0, section 5.1). The values true and "true" in any case pass, and so
 * does a token without the claim.
 *
 * @throws ServiceError `unauthorized` for any other value
 */
function requireVerified(claims: Readonly<Record<string, unknown>>, nameClaim: string): void {
  const claim = `${nameClaim}_verified`;
  const verified = claims[claim];
  const isText = typeof verified === "string";
  if (verified === undefined || verified === true || (isText && /^true$/i.test(verified))) return;
  throw unauthorized(
    `The token's claim ${quoted(claim)} is ${cut(JSON.stringify(verified))}, so that its ${nameClaim} may be anybody's; have it verified by the issuer, or see users.nameClaim`,
  );
}

/**
 * Returns the value of a header; empty if the request has no such header. Node.js joins repeated headers with commas.
 */
function textOf(headers: Headers, name: string): string {
  return [headers[name.toLowerCase()] ?? ""].flat().join(",").trim();
}

/**
 * Validates the settings for signed-in users.
 *
 * @throws ServiceError `invalid` for settings that cannot be parsed or are inconsistent
 */
export function checkUserSettings(settings: UserSettings): void {
  const { header, proxies, issuer, audience, tokenHeader, groupsHeader } = settings;
  readGroupRules(settings.groups);
  createTrustedProxies(proxies);
  for (const [name, given] of Object.entries({ header, groupsHeader, tokenHeader }))
    if (given !== null && !/^[A-Za-z0-9-]+$/.test(given))
      throw invalid(`users.${name} is ${quoted(given)}; it must be the name of a header.`);
  if (header !== null && issuer !== null)
    throw invalid("users.header and users.issuer are both set; people sign in by one of them.");
  if (header !== null && proxies.length === 0)
    throw invalid(
      "users.header is set without users.proxies: name the addresses of your proxy, since anybody else could send the header.",
    );
  if (issuer === null) return;
  if (audience === null)
    throw invalid(
      "users.issuer is set without users.audience: name the client's id, since the issuer's tokens for other services would be taken too.",
    );
  const url = URL.canParse(issuer) ? new URL(issuer) : null;
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (!isSafe) throw invalid(`users.issuer is ${quoted(issuer)}; it must be an https:// address.`);
}

function notAProxy(header: string, address: string): ServiceError {
  return unauthorized(
    `${header} names a user, and comes from ${address}, which is none of the proxies of this server (users.proxies)`,
  );
}

const families = { 4: "ipv4", 6: "ipv6" } as const;

/**
 * Returns a function that is true for the addresses of trusted proxies.
 *
 * @param lines addresses, or networks such as `10.0.0.0/8`
 * @throws ServiceError `invalid` for a line that is neither
 */
function createTrustedProxies(lines: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const line of lines) {
    const [address = "", prefix, ...rest] = line.split("/");
    const family = families[isIP(address) as 4 | 6];
    const bits = prefix === undefined ? null : Number(prefix);
    const bitsMax = family === "ipv4" ? 32 : 128;
    if (family === undefined || rest.length > 0 || prefix === "" || !isPrefix(bits, bitsMax))
      throw invalid(
        `users.proxies has ${quoted(line)}; each must be an address, or a network such as 10.0.0.0/8.`,
      );
    if (bits === null) list.addAddress(address, family);
    else list.addSubnet(address, bits, family);
  }
  return (address) => {
    // IPv4-mapped IPv6 address (dual-stack socket).
    const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
    const family = families[isIP(plain) as 4 | 6];
    return family !== undefined && list.check(plain, family);
  };
}

function isPrefix(bits: number | null, bitsMax: number): boolean {
  return bits === null || (Number.isInteger(bits) && bits >= 0 && bits <= bitsMax);
}
