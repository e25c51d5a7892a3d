// `hone init`: writes a starter project, a task with rewards and the loop that learns it. Needs no server, and touches nothing
// that is there.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import type { Command } from "commander";
import { ServiceError } from "../../domain/service-error.ts";

const files = ["task.js", "learn.js", "find-key.js", "README.md"] as const;

export function addInitCommand(program: Command): void {
  program
    .command("init [folder]")
    .description("Write a starter project: a task, what answers earn, and the loop that learns it.")
    .option("--json", "print the folder and the files as JSON")
    .addHelpText("after", "\nThe folder is the present one unless given; it is made where it is missing.")
    .action(async (folder: string | undefined, { json }: { readonly json?: boolean }) => {
      const place = resolve(folder ?? ".");
      const written = await writeStarter(place);
      if (json === true)
        process.stdout.write(`${JSON.stringify({ folder: place, files: written }, null, 2)}\n`);
      else process.stdout.write(nextSteps(place, written));
    });
}

/**
 * Writes the project.
 *
 * @returns the names of the files that were written
 * @throws ServiceError `conflict` where one of them is there already; nothing is written then
 */
async function writeStarter(folder: string): Promise<readonly string[]> {
  const { packageFolder, packageVersion } = await import("../../server/package.ts");
  const texts = new Map<string, string>(
    files.map((name) => [name, readFileSync(join(packageFolder(), "examples", "starter", name), "utf8")]),
  );
  texts.set(".gitignore", "node_modules\n.hone\n");
  texts.set("package.json", packageText(folder, packageVersion()));
  const taken = [...texts.keys()].filter((name) => existsSync(join(folder, name)));
  if (taken.length > 0)
    throw new ServiceError({
      code: "conflict",
      message: `${folder} has ${taken.join(", ")} already, and nothing was written. Name a new folder, such as \`hone init my-task\`.`,
    });
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of texts) writeFileSync(join(folder, name), text, { flag: "wx" });
  return [...texts.keys()];
}

function packageText(folder: string, version: string): string {
  const project = {
    name: packageName(folder),
    private: true,
    type: "module",
    scripts: { serve: "hone serve", learn: "node learn.js" },
    dependencies: { "hone-server": `^${version}` },
  };
  return `${JSON.stringify(project, null, 2)}\n`;
}

/** The folder's name as npm takes one. */
function packageName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return name === "" ? "starter" : name;
}

function nextSteps(folder: string, written: readonly string[]): string {
  const place = relative(process.cwd(), folder);
  const enter = place === "" ? "" : `cd ${place} && `;
  return [
    `wrote ${written.join(", ")} in ${folder}`,
    "",
    "Start a server there, and in a second terminal the loop:",
    "",
    `  ${enter}npm run serve`,
    `  ${enter}npm run learn`,
    "",
  ].join("\n");
}
