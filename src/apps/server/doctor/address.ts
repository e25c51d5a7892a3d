// Checks the server's address: whether a Hone server already runs there, and otherwise whether the port is free.
import { createServer } from "node:net";
import { packageVersion } from "../package.ts";
import { fault, ok, reasonOf, warning, type Finding } from "./finding.ts";

export interface Address {
  readonly host: string;
  /** TCP port; 0 to use a free one. */
  readonly port: number;
}

/** A running Hone server. */
export interface SeenServer {
  readonly version: string;
  /** State as `/health` reports it, such as `ready`. */
  readonly state: string;
  /** Reason why the server is not ready; empty if it is. */
  readonly reason: string;
}

/** Returns the Hone server at a URL; null if none answers within about two seconds. */
export type FindServer = (url: string) => Promise<SeenServer | null>;

/** Returns the URL of a server for other programs on the same machine. */
export function urlOf({ host, port }: Address): string {
  const reached = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}

export async function addressFindings(address: Address, find: FindServer): Promise<readonly Finding[]> {
  const url = urlOf(address);
  const server = address.port === 0 ? null : await find(url);
  if (server !== null) return [serverFinding(url, server), ok("port", `${address.port} is that server's`)];
  return [ok("server", `none runs at ${url}; \`hone serve\` starts one`), await portFinding(address)];
}

function serverFinding(url: string, { version, state, reason }: SeenServer): Finding {
  const message = `version ${version} runs at ${url}: ${state}${reason === "" ? "" : `, ${reason}`}`;
  if (state !== "ready")
    return warning("server", message, "Its log and /v1/system-check say more; `hone top` shows it live.");
  return version === packageVersion()
    ? ok("server", message)
    : warning(
        "server",
        `${message}, but this program's version is ${packageVersion()}`,
        "Restart the server, so that both have the same version.",
      );
}

async function portFinding({ host, port }: Address): Promise<Finding> {
  if (port === 0) return ok("port", "a free one will be picked");
  const error = await listeningFault({ host, port });
  if (error === null) return ok("port", `${port} of ${host} is free`);
  const code = "code" in error ? String(error.code) : "";
  if (code === "EADDRINUSE")
    return fault(
      "port",
      `${port} of ${host} is in use by another program`,
      `Stop that program, or choose another with --port; \`ss -ltnp sport = :${port}\` (Linux) or \`lsof -i :${port}\` names it.`,
    );
  if (code === "EACCES")
    return fault(
      "port",
      `${port} of ${host} is not for this user`,
      "Choose one of 1024 or more with --port.",
    );
  return fault(
    "port",
    `${port} of ${host} cannot be listened on: ${reasonOf(error)}`,
    "Choose another address with --host and --port; 0.0.0.0 stands for all addresses of this machine.",
  );
}

/** Tries to listen at the address, and returns the error if that fails. */
function listeningFault({ host, port }: Address): Promise<Error | null> {
  return new Promise((resolve) => {
    const listener = createServer();
    listener.once("error", resolve);
    listener.listen({ host, port, exclusive: true }, () => listener.close(() => resolve(null)));
  });
}
