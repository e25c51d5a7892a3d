// `hone open`: open the server's web page in the browser.
import { spawn } from "node:child_process";
import type { Command } from "commander";
import { invalid, quoted } from "../../../base/domain/service-error.ts";
import type { Hone } from "../../client/hone.ts";
import { addConnectionFlags, connect, printResult, type ConnectionFlags } from "../connection.ts";
import { isIdPrefix } from "../names/find-by-id.ts";
import type { JsonFlag } from "../json-output.ts";
import { findJobId } from "../names/named-job.ts";
import { findNamed } from "../names/named-version.ts";

/** Views of the dashboard, as in its navigation. */
export const views: readonly string[] = [
  "models",
  "jobs",
  "runs",
  "trajectories",
  "conversations",
  "chats",
  "traces",
  "feedback",
  "queues",
  "chat",
  "bases",
  "rules",
  "usage",
  "webhooks",
  "retention",
  "logs",
];
const otherPages: ReadonlyMap<string, string> = new Map([
  ["docs", "docs"],
  ["guide", "guide/"],
]);

const about = `
The place is a view of the dashboard (${views.join(", ")}), docs (the API), guide, the
name of a trained model, or the id of a job. Without a place, the overview opens.

The command also prints the address, for machines without a browser. If the output is not a terminal, it only prints the
address. The page asks for a key the first time: the admin key is in the file admin-key in the server's data folder.`;

export function addOpenCommand(program: Command): void {
  addConnectionFlags(
    program
      .command("open [place]")
      .description(
        "Open a page of the server in the browser: a view of the dashboard, a model, a job, the guide, or the API's docs.",
      ),
  )
    .option("--json", "only print the address, as JSON")
    .addHelpText("after", about)
    .action(async (place: string | undefined, flags: ConnectionFlags & JsonFlag) => {
      const client = connect(flags);
      const address = `${client.baseUrl}/${place === undefined ? "" : await pathOf(client, place)}`;
      // Fails here if the server is unreachable, instead of opening a browser tab that stays empty.
      await client.server.version();
      printResult({ address }, address, flags);
      if (flags.json !== true && process.stdout.isTTY) launch(address);
    });
}

async function pathOf(client: Hone, place: string): Promise<string> {
  if (views.includes(place)) return `#/${place}`;
  const page = otherPages.get(place);
  if (page !== undefined) return page;
  if (place.includes("/")) return `#/models/${(await findNamed(client, place)).model.id}`;
  if (isIdPrefix(place)) return `#/jobs/${await findJobId(client, place)}`;
  const names = [...views, ...otherPages.keys()].join(", ");
  throw invalid(
    `There is no page ${quoted(place)}; name one of ${names}, a model (project/name), or the id of a job.`,
  );
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
