// The servers from which prompts may be fetched. An address in a request can only select one of these servers; Hone
// never contacts any other address.
import { invalid, quoted } from "../../base/domain/service-error.ts";

/** Network address of a server. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** A server that the operator allows. */
export interface Peer extends Address {
  /** Origin of the server, such as `https://prefill.example:8443`. */
  readonly origin: string;
}

/**
 * Reads the origins of allowed servers.
 *
 * @throws ServiceError `invalid` for a text that is not an origin
 */
export function readPeers(texts: readonly string[]): readonly Peer[] {
  return texts.map((text) => {
    const url = URL.parse(text);
    const isOrigin = url !== null && ["http:", "https:"].includes(url.protocol) && url.pathname === "/";
    if (!isOrigin || url.username + url.password + url.search + url.hash !== "")
      throw invalid(
        `transfer.peers has ${quoted(text)}; a peer is written as http://host:port or https://host:port.`,
      );
    const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
    return { origin: url.origin, host: plainHost(url.hostname), port };
  });
}

/**
 * Reads an address.
 *
 * @throws ServiceError `invalid` for a text that is not `host:port`
 */
export function readAddress(text: string): Address {
  const url = URL.parse(`http://${text}`);
  if (url === null || url.host === "" || `${url.hostname}:${url.port || 80}` !== text.toLowerCase())
    throw invalid(`transfer.address is ${quoted(text)}; it is written as host:port.`);
  return { host: plainHost(url.hostname), port: Number(url.port || 80) };
}

/** Returns the allowed server with this address; null if the operator does not allow that address. */
export function findPeer(peers: readonly Peer[], { host, port }: Address): Peer | null {
  const asked = plainHost(host.toLowerCase());
  return peers.find((peer) => peer.host === asked && peer.port === port) ?? null;
}

/** Returns an IPv6 address without its brackets; other hosts unchanged. */
function plainHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}
