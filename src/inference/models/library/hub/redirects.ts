// Decides which redirects of a hub may be followed; hubs redirect to other servers for large files. These functions
// send no requests.
import { isLoopback } from "../../../../base/domain/loopback.ts";
import { quoted, ServiceError } from "../../../../base/domain/service-error.ts";

/** Maximum number of redirects that one request follows. Hubs and their file stores need fewer. */
export const redirectsMax = 10;

/**
 * Returns the URL to which a response redirects.
 *
 * @param from the requested URL
 * @throws ServiceError `unavailable` for a target that is not a URL, or not encrypted with TLS although the requested
 * URL is. Also for a target that is this machine or a link-local address (where clouds serve credentials), unless the
 * hub itself is there
 */
export function redirectTarget(from: URL, location: string, endpoint: string): URL {
  const refused = (why: string): ServiceError => {
    const message = `${endpoint} redirects a request to ${quoted(location)}, ${why}. Does HF_ENDPOINT name the right server?`;
    return new ServiceError({ code: "unavailable", message });
  };
  if (!URL.canParse(location, from.href)) throw refused("which is not a URL");
  const target = new URL(location, from);
  if (target.protocol !== "https:" && target.protocol !== "http:")
    throw refused("which is not a web address");
  if (from.protocol === "https:" && target.protocol === "http:") throw refused("without TLS");
  if (isOwnMachine(target.hostname) && !isOwnMachine(new URL(endpoint).hostname))
    throw refused("which is this machine or link-local");
  return target;
}

function isOwnMachine(hostname: string): boolean {
  if (isLoopback(hostname) || /^(0|169\.254)\./.test(hostname)) return true;
  // The class `URL` writes IPv4-mapped addresses as `[::ffff:7f00:1]`.
  return /^\[(::|fe[89ab][0-9a-f]:.*|::ffff:(7f|0:|a9fe:).*)\]$/i.test(hostname);
}
