// `hone serve`: run the server until a signal stops it.
import { resolve } from "node:path";
import type { Command } from "commander";
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import {
  allSettings,
  readConfig,
  removedFlags,
  redactedConfig,
  type FlagValues,
  type HoneConfig,
} from "../../server/config.ts";
import type { SettingsOverrides } from "../../server/settings.ts";
import { errorText } from "../error-text.ts";
import { startSummary } from "../start-summary.ts";
import { addSettingOptions, toFlagNames } from "../setting-options.ts";

export function addServeCommand(program: Command, limits: SettingsOverrides = {}): void {
  const command = program
    .command("serve")
    .description(
      "Start the server, which answers requests, trains models and stores feedback. A flag overrides its HONE_* variable, which overrides hone.json in the data folder.",
    )
    .option("--print-config", "print the effective configuration as JSON and exit")
    .option("--help-all", `show all ${allSettings().length} settings and exit`)
    .action(async (flags: FlagValues) => {
      if (flags["helpAll"] === true) {
        for (const option of command.options)
          if (!removedFlags().includes(option.long ?? "")) option.hideHelp(false);
        command.outputHelp();
        return;
      }
      const config = readConfig(toFlagNames(flags));
      if (flags["printConfig"] === true) {
        process.stdout.write(`${JSON.stringify(redactedConfig(config), null, 2)}\n`);
        return;
      }
      const { endProcess, printError, printUnexpected } =
        await import("../../server/process/serving-process.ts");
      printUnexpected();
      await serveUntilStopped(config, limits).catch((error: unknown) => {
        printError(errorText(error));
        process.exitCode = 1;
      });
      await endProcess(Number(process.exitCode ?? 0));
    });
  addSettingOptions(command);
}

/**
 * Runs the server until SIGTERM or SIGINT; either signal also interrupts startup. A second signal has no effect,
 * because deadlines already limit the shutdown. Fails if the database requires a newer program.
 */
async function serveUntilStopped(config: HoneConfig, limits: SettingsOverrides): Promise<void> {
  if (config.server.roles.includes("serve")) {
    const { prestartEngines } = await import("../../server/bases/prestart-engines.ts");
    prestartEngines(config, limits);
  }
  const { createServer } = await import("../../server/server.ts");
  const { printAnswer } = await import("../../server/process/serving-process.ts");
  const server = createServer(config, limits);
  const signalled = new Promise<void>((resolve) => {
    process.on("SIGTERM", () => resolve());
    process.on("SIGINT", () => resolve());
  });
  const outdated = server.outdated.then((reason) => {
    throw reason;
  });
  try {
    const up = server.start().then(() => true);
    const isUp = await Promise.race([up, signalled.then(() => false), outdated]);
    if (isUp) {
      if (server.firstKey.isNew) {
        printAnswer(
          `admin key (shown once, kept in ${config.server.data}/admin-key): ${server.firstKey.secret}\n`,
        );
      }
      printAnswer(`listening on ${server.url}\n`);
      if (server.logFormat === "people") printAnswer(startSummary(server, config.server));
      await Promise.race([signalled, outdated]);
    }
  } catch (error) {
    throw fullDiskError(error) === null ? error : startOnFullDisk(config.server.data);
  } finally {
    await server.stop();
  }
}

/** Returns the error for a data folder on a full disk: the server must write to the folder at startup. */
function startOnFullDisk(data: string): ServiceError {
  const message = `The disk of the data folder ${resolve(data)} is full, and the server must write there to start. Free space on it, or name a folder on another disk (--data), and start again.`;
  return new ServiceError({ code: "unavailable", message });
}
