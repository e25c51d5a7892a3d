// `hone init`: write a starter project with a task, rewards and a training loop. Needs no server and overwrites no
// file. Prints the next steps, which include starting a server only if none is running.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, relative, resolve } from "node:path";
import type { Command } from "commander";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { packageSource, type PackageSource } from "../starter/package-source.ts";
import { findRunningServer, type RunningServer } from "../starter/running-server.ts";
import { type JsonFlag, printJson } from "../json-output.ts";

const files = ["task.js", "learn.js", "find-key.js", "README.md"] as const;

const about = `
Without a folder, the project is written into the current folder. A missing folder is created. The package.json of the
project names Hone in the way in which this command was installed: a version in the registry, a tarball, or the folder of a
checkout. If a server answers at HONE_URL (default http://127.0.0.1:8000), the training loop uses this server.`;

export function addInitCommand(program: Command): void {
  program
    .command("init [folder]")
    .description("Write a starter project: a task, its reward, and the training loop.")
    .option(
      "--json",
      "print JSON: the folder, the names of the written files, the dependency on hone-server, and the address of the running server (null if none)",
    )
    .addHelpText("after", about)
    .action(async (folder: string | undefined, flags: JsonFlag) => {
      const place = resolve(folder ?? ".");
      const { files: written, source } = await writeStarter(place);
      const server = await findRunningServer(place);
      if (flags.json !== true) {
        process.stdout.write(nextSteps(place, { written, source, server }));
        return;
      }
      const { dependency } = source;
      const result = { folder: place, files: written, dependency, server: server?.url ?? null };
      printJson(result, flags);
    });
}

interface Starter {
  /** Names of the files that were written. */
  readonly files: readonly string[];
  readonly source: PackageSource;
}

/**
 * Writes the starter project. Writes nothing if it fails with one of these errors.
 *
 * @throws ServiceError `conflict` if one of its files exists, `invalid` if the folder cannot be created
 */
async function writeStarter(folder: string): Promise<Starter> {
  const { packageFolder, packageVersion } = await import("../../server/package.ts");
  const { makeFolder } = await import("../../server/make-folder.ts");
  const source = packageSource(packageFolder(), packageVersion());
  const texts = new Map<string, string>(
    files.map((name) => [name, readFileSync(join(packageFolder(), "examples", "starter", name), "utf8")]),
  );
  texts.set(".gitignore", "node_modules\n.hone\n");
  texts.set("package.json", packageText(folder, source));
  const taken = [...texts.keys()].filter((name) => existsSync(join(folder, name)));
  if (taken.length > 0)
    throw new ServiceError({
      code: "conflict",
      message: `${folder} already has ${taken.join(", ")}; nothing was written. Name a new folder, such as \`hone init ${basename(folder)}-2\`.`,
    });
  await makeFolder(folder, "`hone init <folder>`");
  for (const [name, text] of texts) writeFileSync(join(folder, name), text, { flag: "wx" });
  return { files: [...texts.keys()], source };
}

function packageText(folder: string, { dependency }: PackageSource): string {
  const project = {
    name: packageName(folder),
    private: true,
    type: "module",
    scripts: { serve: "hone serve", learn: "node learn.js" },
    dependencies: { "hone-server": dependency },
  };
  return `${JSON.stringify(project, null, 2)}\n`;
}

/** Returns a valid npm package name that is made from the folder's name. */
function packageName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return name === "" ? "starter" : name;
}

interface Outcome {
  readonly written: readonly string[];
  readonly source: PackageSource;
  readonly server: RunningServer | null;
}

function nextSteps(folder: string, { written, source, server }: Outcome): string {
  const place = relative(process.cwd(), folder);
  const enter = place === "" ? "" : `cd ${/[^\w./-]/.test(place) ? JSON.stringify(place) : place} && `;
  const install = resolvesPackage(folder) ? "" : "npm install && ";
  const steps =
    server === null
      ? [
          "Start a server there, and the training loop in a second terminal:",
          "",
          `  ${enter}${install}npm run serve`,
          `  ${enter}npm run learn`,
        ]
      : [
          `The server at ${server.url} already answers, and the loop will use it:`,
          "",
          `  ${enter}${install}${server.isDefault ? "" : `HONE_URL=${server.url} `}npm run learn`,
        ];
  return [
    `wrote ${written.join(", ")} in ${folder}`,
    ...(source.localPath === null
      ? []
      : [
          `Its package.json takes hone-server from ${source.localPath}: a path on this machine. Change it if you move the project to another machine.`,
        ]),
    "",
    ...steps,
    ...(server?.acceptsKey === false
      ? ["", "That server rejects the key that the loop would find: set HONE_API_KEY to one of its keys."]
      : []),
    "",
  ].join("\n");
}

/** True if programs in the folder can already resolve the package, for example from a parent folder. */
function resolvesPackage(folder: string): boolean {
  try {
    createRequire(join(folder, "package.json")).resolve("hone-server/package.json");
    return true;
  } catch {
    // The package is not found; `npm install` will install it.
    return false;
  }
}
