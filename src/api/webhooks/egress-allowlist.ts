// Egress allowlist: the hosts and addresses to which the operator lets the server send webhooks. A name may resolve to
// any address, so the resolved address is checked, too, at each connection.
import { BlockList, isIP } from "node:net";
import { invalid, quoted, type ServiceError } from "../../base/domain/service-error.ts";

export interface EgressAllowlist {
  /** True if the operator allows no destination at all. */
  readonly isEmpty: boolean;
  /**
   * True if a URL's host may be resolved: it is a listed name or address, or localhost while a loopback address is
   * listed.
   */
  mayResolve(host: string): boolean;
  /** True if a request to the host may connect to the address. */
  mayConnect(host: string, address: string): boolean;
}

/**
 * Addresses to which a listed name may resolve only if the address is listed, too: loopback, unspecified, link-local,
 * cloud metadata and non-unicast addresses, and IPv6 addresses that embed IPv4 ones. The IPv4 networks of a BlockList
 * also match IPv4-mapped addresses (::ffff:0:0/96).
 */
const closedToNames = [
  "0.0.0.0/8",
  "127.0.0.0/8",
  // The first is Alibaba Cloud's metadata service, the second Azure's virtual machine service.
  "100.100.100.200",
  "168.63.129.16",
  "169.254.0.0/16",
  // This network contains the address of Oracle Cloud's metadata service.
  "192.0.0.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  // Unspecified, loopback and IPv4-compatible addresses.
  "::/96",
  // IPv6 networks whose addresses embed IPv4 ones: translated IPv4 (RFC 2765), NAT64, Teredo and 6to4.
  "::ffff:0:0:0/96",
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "2001::/32",
  "2002::/16",
  "fe80::/10",
  "fec0::/10",
  // Metadata services of AWS and Google Cloud.
  "fd00:ec2::/32",
  "fd20:ce::254",
  "ff00::/8",
];

/**
 * Parses the setting `webhooks.allowed`.
 *
 * @throws ServiceError `invalid` for an entry that is not a host name, an address or a network
 */
export function readEgressAllowlist(entries: readonly string[]): EgressAllowlist {
  const names: string[] = [];
  const networks: string[] = [];
  for (const entry of entries.map((text) => text.toLowerCase())) {
    if (entry === "localhost") {
      names.push(entry);
      networks.push("127.0.0.0/8", "::1/128");
    } else if (isNetwork(entry)) networks.push(entry);
    else if (/^(\*\.)?[a-z0-9_][a-z0-9_-]*(\.[a-z0-9_-]+)*\.?$/.test(entry) && !/^[\d.]+$/.test(entry))
      names.push(entry);
    else throw notAllowed(entry);
  }
  const open = networksOf(networks);
  const closed = networksOf(names.length === 0 ? [] : closedToNames);
  const isListed = (host: string): boolean =>
    names.some((name) => (name.startsWith("*.") ? host.endsWith(name.slice(1)) : host === name));
  return {
    isEmpty: entries.length === 0,
    mayResolve: (host) => {
      const plain = plainHost(host);
      if (isIP(plain) !== 0) return isWithin(open, plain);
      // Hone resolves localhost itself, without a name server, so it is enough if a loopback address is listed.
      if (plain === "localhost") return isWithin(open, "127.0.0.1") || isWithin(open, "::1");
      return isListed(plain);
    },
    mayConnect: (host, address) => {
      if (isWithin(open, address)) return true;
      const plain = plainHost(host);
      return isIP(plain) === 0 && isListed(plain) && !isWithin(closed, address);
    },
  };
}

/** Returns a URL's host in lower case, without the brackets of an IPv6 address and without the final dot of a name. */
export function plainHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
}

function isNetwork(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

function networksOf(texts: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const text of texts) {
    const [address = "", bits] = text.split("/");
    const family = isIP(address) === 4 ? "ipv4" : "ipv6";
    networks.addSubnet(address, bits === undefined ? (family === "ipv4" ? 32 : 128) : Number(bits), family);
  }
  return networks;
}

/** True if the networks contain the address. An IPv4-mapped IPv6 address counts as its IPv4 address. */
function isWithin(networks: BlockList, address: string): boolean {
  const plain = address.replace(/%.*$/, "");
  return networks.check(plain, isIP(plain) === 4 ? "ipv4" : "ipv6");
}

function notAllowed(entry: string): ServiceError {
  return invalid(
    `webhooks.allowed has ${quoted(entry)}; an entry is a host name (hooks.example.com, *.example.com), an address or a network (10.0.0.0/8), without a scheme and a port.`,
  );
}
