// Recognizes host names that refer to this machine. A name that only begins like a loopback address refers to another
// host.

/** True if a host, as written in a URL or a setting, is a loopback address or a name for one. */
export function isLoopback(host: string): boolean {
  const name = host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
  if (name === "localhost" || name.endsWith(".localhost") || name === "::1") return true;
  return /^127(\.\d{1,3}){3}$/.test(name) && name.split(".").every((part) => Number(part) <= 255);
}
