// Which host names mean this machine alone. A name that only begins like an address of it is somebody else's.

/** Whether a host, as in a URL or a setting, is a loopback address or a name that stands for one. */
export function isLoopback(host: string): boolean {
  const name = host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
  if (name === "localhost" || name.endsWith(".localhost") || name === "::1") return true;
  return /^127(\.\d{1,3}){3}$/.test(name) && name.split(".").every((part) => Number(part) <= 255);
}
