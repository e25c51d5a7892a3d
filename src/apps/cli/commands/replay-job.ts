// `hone jobs replay`: repeats a job beside its model and says whether the same comes of it.
import type { Command } from "commander";
import type { Replay } from "../../client/api.ts";
import { addConnectionFlags, connect, type ConnectionFlags } from "../connection.ts";

/** The exit status of a replay that gave something else; one that could not be made ends with 1, as every error. */
const statusDifferent = 2;

/** Adds `replay` to the command `jobs`. */
export function addReplayCommand(jobs: Command): void {
  addConnectionFlags(
    jobs
      .command("replay <id>")
      .description(
        `Repeat a job, and compare with the version it made; the status is 0 if equal, ${statusDifferent} if not.`,
      ),
  )
    .option("--json", "as JSON")
    .action(async (id: string, flags: ConnectionFlags & { readonly json?: boolean }) => {
      const client = connect(flags);
      const { id: replayId } = await client.jobs.replay(id);
      if (flags.json !== true) process.stderr.write(`replaying in job ${replayId}\n`);
      const job = await client.jobs.wait(replayId);
      if (flags.json === true) process.stdout.write(`${JSON.stringify(job, null, 2)}\n`);
      else if (job.replay !== null) process.stdout.write(describe(job.replay));
      if (job.replay?.is_equal !== true) process.exitCode = statusDifferent;
    });
}

function describe({ is_equal: isEqual, files, matrices, different, differences }: Replay): string {
  if (isEqual) return `equal, byte for byte: ${files.join(", ")} (${matrices} matrices)\n`;
  const lines = differences.map(({ file, matrix, values, greatest }) => {
    const by = values === null ? "" : `: ${values} values, by up to ${greatest ?? "what is not finite"}`;
    return `  ${file}${matrix === null ? "" : ` ${matrix}`}${by}`;
  });
  const more = different - differences.length;
  return [
    `different: ${different} of ${matrices} matrices`,
    ...lines,
    ...(more > 0 ? [`  and ${more} more`] : []),
    "",
  ].join("\n");
}
