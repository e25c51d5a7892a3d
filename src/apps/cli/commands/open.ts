// `hone open`: open the server's web page in the browser.
import { spawn } from "node:child_process";
import type { Command } from "commander";
import { invalid, quoted } from "../../../base/domain/service-error.ts";
import {
  addConnectionFlags,
  connect,
  printResult,
  type ConnectionFlags,
  type JsonFlag,
} from "../connection.ts";

const places = {
  chats: "#/chats",
  jobs: "#/jobs",
  models: "#/models",
  docs: "docs",
  guide: "guide/",
} as const;

const about = `
The command also prints the address, for machines without a browser. If the output is not a terminal, it only prints the
address. The page asks for a key the first time: the admin key is in the file admin-key in the server's data folder.`;

export function addOpenCommand(program: Command): void {
  addConnectionFlags(
    program
      .command("open [place]")
      .description(
        "Open a page of the server in the browser: overview, chats, jobs, models, docs (the API) or guide.",
      ),
  )
    .option("--json", "only print the address, as JSON")
    .addHelpText("after", about)
    .action(async (place: string | undefined, flags: ConnectionFlags & JsonFlag) => {
      const client = connect(flags);
      const address = `${client.baseUrl}/${place === undefined ? "" : pathOf(place)}`;
      // Fails here if the server is unreachable, instead of opening a browser tab that stays empty.
      await client.server.version();
      printResult({ address }, address, flags);
      if (flags.json !== true && process.stdout.isTTY) launch(address);
    });
}

function pathOf(place: string): string {
  if (Object.hasOwn(places, place)) return places[place as keyof typeof places];
  const message = `The page has no view ${quoted(place)}; its views are ${Object.keys(places).join(", ")}.`;
  throw invalid(message);
}

/**
 * Opens the address in the default browser. This is safe, because the address comes from this program. Only Windows
 * uses a shell, which gets the address as a single word.
 */
function launch(address: string): void {
  const commands: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
    darwin: ["open", address],
    win32: ["rundll32", "url.dll,FileProtocolHandler", address],
  };
  const [command, ...words] = commands[process.platform] ?? ["xdg-open", address];
  const browser = spawn(command, words, { stdio: "ignore", detached: true });
  // Ignores a missing browser program: the user can open the printed address.
  browser.on("error", () => undefined);
  browser.unref();
}
