// Resolves a receiver's host name to addresses by querying the name servers directly. getaddrinfo cannot be cancelled,
// and a few pending calls of it would occupy the whole thread pool of the process.
import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import type { FoundAddress } from "../../base/http-client/http-client.ts";

/**
 * Resolves a host name to at least one address.
 *
 * @throws UnresolvedName if no address was found; the signal's reason once it aborts
 */
export type ResolveName = (host: string, signal: AbortSignal) => Promise<readonly FoundAddress[]>;

export class UnresolvedName extends Error {}

export interface NameSources {
  /** Name servers to query, as `address` or `address:port`; by default the name servers of the operating system. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  readonly resolverFile?: string;
}

/** Timeout in milliseconds of the first query to a name server. The second query may take about twice as long. */
const answerMs = 1500;
const tries = 2;
/** Maximum number of addresses returned for a name. */
const addressesMax = 16;
/** Maximum number of search domains that are tried, as in the C library. */
const searchMax = 6;

const systemHosts =
  process.platform === "win32" ? "C:\\Windows\\System32\\drivers\\etc\\hosts" : "/etc/hosts";

const loopback = ["127.0.0.1", "::1"];

/**
 * Returns a resolver. It knows the addresses of localhost; for other names it reads the hosts file, then queries the
 * name servers.
 */
export function nameResolver({
  servers,
  hostsFile = systemHosts,
  resolverFile = "/etc/resolv.conf",
}: NameSources = {}): ResolveName {
  return async (host, signal) => {
    signal.throwIfAborted();
    if (host === "localhost") return found(loopback);
    const listed = addressesIn(await readTextFile(hostsFile), host);
    if (listed.length > 0) return found(listed);
    // Each call has its own Resolver, because `cancel` ends all queries of a Resolver. A new Resolver also reads the
    // current configuration.
    const resolver = new Resolver({ timeout: answerMs, tries });
    if (servers !== undefined) resolver.setServers(servers);
    const candidates = candidatesOf(host, await readTextFile(resolverFile));
    signal.throwIfAborted();
    const cancel = (): void => resolver.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      for (const name of candidates) {
        const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
        signal.throwIfAborted();
        const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
        if (addresses.length > 0) return found(addresses);
      }
    } finally {
      signal.removeEventListener("abort", cancel);
    }
    throw new UnresolvedName(`${host} cannot be resolved`);
  };
}

function found(addresses: readonly string[]): readonly FoundAddress[] {
  return addresses.slice(0, addressesMax).map((address) => ({ address, family: isIP(address) }));
}

/**
 * Returns the file's text. If the file cannot be read, returns an empty text, so that resolution continues without it.
 */
async function readTextFile(path: string): Promise<string> {
  return await readFile(path, "utf8").catch(() => "");
}

function addressesIn(hosts: string, host: string): readonly string[] {
  return splitWords(hosts).flatMap(([address = "", ...names]) =>
    isIP(address) !== 0 && names.some((name) => name.toLowerCase() === host) ? [address] : [],
  );
}

/** Returns the full names to query for a host, in the order that `search` and `ndots` in resolv.conf determine. */
function candidatesOf(host: string, configuration: string): readonly string[] {
  let search: readonly string[] = [];
  let dotsMin = 1;
  for (const [keyword, ...words] of splitWords(configuration)) {
    if (keyword === "search" || keyword === "domain") search = words.slice(0, searchMax);
    if (keyword !== "options") continue;
    for (const word of words) dotsMin = Number(/^ndots:(\d{1,2})$/.exec(word)?.[1] ?? dotsMin);
  }
  const longer = search.map((domain) => `${host}.${domain.replace(/^\.|\.$/g, "")}`);
  return host.split(".").length > dotsMin ? [host, ...longer] : [...longer, host];
}

/** Returns the words of each line of a file, without comments. */
function splitWords(text: string): readonly (readonly string[])[] {
  return text.split("\n").map((line) =>
    line
      .replace(/[#;].*$/, "")
      .trim()
      .split(/\s+/),
  );
}
