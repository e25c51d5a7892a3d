// Provides the command `hone` to shell blocks. All of a test's command lines run in one process, because starting a
// process takes longer than most commands. The command `hone serve` has a separate process.
import { chmodSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { commandProcess } from "../../src/apps/cli/testing/command-process.ts";
import { putHoneInto } from "../hone-command.ts";

/** Omits what only makes a server's first chat faster. */
const serverLimits = { server: { firstChats: false }, engine: { preparesAhead: false } };

export class HandedOverHone {
  readonly #run = commandProcess();
  readonly #listener: Server = createServer(
    (socket) => void this.#answer(socket).finally(() => socket.end()),
  ).unref();

  /** Puts the command into a folder, which is created if missing. Call it before the test's other methods. */
  async putInto(folder: string): Promise<void> {
    const serving = join(putHoneInto(join(folder, "serve"), serverLimits), "hone");
    await new Promise<void>((resolve) => this.#listener.listen(0, "127.0.0.1", resolve));
    // Safe cast: a server that listens on a TCP port has such an address.
    const { port } = this.#listener.address() as AddressInfo;
    writeFileSync(join(folder, "hone"), script(port, serving));
    chmodSync(join(folder, "hone"), 0o755);
  }

  close(): void {
    this.#listener.close();
  }

  /** Reads a request, runs its command line, and writes the output, the errors and the exit status. */
  async #answer(socket: Socket): Promise<void> {
    let text = "";
    for await (const data of socket.setEncoding("utf8")) {
      text += String(data);
      const [folder, count, ...rest] = text.split("\0");
      const [words, variables] = [rest.slice(0, Number(count)), rest.slice(Number(count))];
      const end = variables.indexOf("");
      // The last text has no NUL character yet.
      if (end < 0 || end === variables.length - 1) continue;
      const environment = Object.fromEntries(
        variables
          .slice(0, end)
          .map((variable) => [variable.split("=", 1)[0], variable.replace(/^.*?=/s, "")]),
      );
      const { status, output, errors } = await this.#run(words, { folder, environment });
      socket.write(`${output}\0${errors}\0${status}\0`);
      return;
    }
  }
}

/**
 * Returns a shell script that sends its folder, its words and Hone's variables to the listener, each followed by a NUL
 * character. An empty text ends the request.
 */
function script(port: number, serving: string): string {
  return `#!/usr/bin/env bash
if [ "\${1-}" = serve ]; then exec '${serving}' "$@"; fi
exec 3<>/dev/tcp/127.0.0.1/${port}
variables=()
for name in "\${!HONE_@}"; do variables+=("$name=\${!name}"); done
printf '%s\\0' "$PWD" "$#" "$@" "\${variables[@]}" '' >&3
IFS= read -r -d '' output <&3
IFS= read -r -d '' errors <&3
IFS= read -r -d '' status <&3 || exit 1
printf '%s' "$output"
printf '%s' "$errors" >&2
exit "$status"
`;
}
