// `hone doctor`: check whether a server would work on this machine, and show how to fix problems.
import type { Command } from "commander";
import type { FlagValues } from "../../server/config.ts";
import type { Finding } from "../../server/doctor/examine.ts";
import { HoneError } from "../../client/hone-error.ts";
import { Hone } from "../../client/hone.ts";
import type { SeenServer } from "../../server/doctor/address.ts";
import { addSettingOptions, toFlagNames } from "../setting-options.ts";
import { printJson } from "../json-output.ts";

const about = `
To check a command line of \`hone serve\`, replace \`serve\` by \`doctor\`: it takes the same settings. The command starts and
changes nothing. It exits with status 1 if a server with these settings would not work.`;

export function addDoctorCommand(program: Command): void {
  addSettingOptions(
    program
      .command("doctor")
      .description("Check machine, settings, data folder, port and models, and say how to fix each fault.")
      .option("--json", "print JSON"),
  )
    .addHelpText("after", about)
    .action(async ({ json, select, ...flags }: FlagValues) => {
      const { examine } = await import("../../server/doctor/examine.ts");
      const findings: Finding[] = [];
      for await (const finding of examine(toFlagNames(flags), findServer)) {
        findings.push(finding);
        if (json !== true) process.stdout.write(lineOf(finding));
      }
      if (json === true) printJson(findings, typeof select === "string" ? { select } : {});
      else process.stdout.write(`\n${summaryOf(findings)}\n`);
      if (findings.some(({ state }) => state === "fault")) process.exitCode = 1;
    });
}

const stateWidth = 9;
const colors = { ok: 32, warning: 33, fault: 31 } as const;

function lineOf({ check, state, message, cure }: Finding): string {
  const word = state.padEnd(stateWidth);
  const shown = process.stdout.isTTY && process.stdout.hasColors() ? colored(word, colors[state]) : word;
  const cured = cure === null ? "" : `${" ".repeat(stateWidth)}-> ${cure}\n`;
  return `${shown}${check}: ${message}\n${cured}`;
}

function colored(text: string, color: number): string {
  return `\u001b[${color}m${text}\u001b[0m`;
}

function summaryOf(findings: readonly Finding[]): string {
  const counted = (["fault", "warning"] as const).flatMap((state) => {
    const count = findings.filter((finding) => finding.state === state).length;
    return count === 0 ? [] : [`${count} ${state}${count === 1 ? "" : "s"}`];
  });
  return counted.length === 0 ? "No faults found." : `${counted.join(", ")}.`;
}

/** Timeout in milliseconds of each request that checks whether a server already uses the address. */
const timeout = 2000;

interface HealthBody {
  readonly state?: unknown;
  readonly reason?: unknown;
}

/** Returns the Hone server at an address; null if no Hone server answers there. */
async function findServer(url: string): Promise<SeenServer | null> {
  const { server } = new Hone({ baseUrl: url, apiKey: null, timeout, retries: 0 });
  try {
    const version: unknown = await server.version();
    const { state, reason }: HealthBody = await server.health().catch(unhealthyBody);
    // Another program may have the same routes, but its answers lack these fields.
    if (typeof version !== "string" || typeof state !== "string") return null;
    return { version, state, reason: typeof reason === "string" ? reason : "" };
  } catch {
    return null;
  }
}

/**
 * Returns the health report from the body of an error. An unhealthy server answers with an error status, but the body
 * is a health report like that of a healthy server.
 */
function unhealthyBody(error: unknown): HealthBody {
  if (error instanceof HoneError && typeof error.body === "object" && error.body !== null) return error.body;
  throw error;
}
