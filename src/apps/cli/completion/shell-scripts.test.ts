// Tests of the completion scripts in real shells, as if the user pressed the tab key.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { shellScripts } from "./shell-scripts.ts";

const hasBash = spawnSync("bash", ["--version"]).status === 0;
const skip = hasBash ? false : "there is no bash here";

/** Returns a new folder with a fake `hone` program that prints the lines and records its arguments. */
function folderWithHone(t: TestContext, lines: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-completion-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const hone = join(folder, "hone");
  writeFileSync(
    hone,
    `#!/usr/bin/env bash\nprintf '%s\\n' "$@" > asked\nprintf '%b\\n' ${lines.map((one) => `'${one}'`).join(" ")}\n`,
  );
  chmodSync(hone, 0o755);
  return folder;
}

/** Returns bash's completions for a line with the cursor at its end. */
function offered(
  folder: string,
  line: string,
): { readonly replies: readonly string[]; readonly asked: string } {
  const program = `
    PATH="${folder}:$PATH"
    source completion.bash
    COMP_LINE='${line}'
    COMP_POINT=\${#COMP_LINE}
    COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
    $(complete -p hone | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    printf '%s\\n' "\${COMPREPLY[@]}"
    echo ==
    cat asked 2>/dev/null`;
  writeFileSync(join(folder, "completion.bash"), shellScripts.bash);
  const { stdout, stderr } = spawnSync("bash", ["--norc", "--noprofile", "-c", program], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(stderr, "");
  const [replies = "", asked = ""] = stdout.split("==\n");
  return { replies: replies.split("\n").filter((reply) => reply !== ""), asked };
}

test("bash passes the words so far, and offers values without descriptions", { skip }, (t) => {
  const folder = folderWithHone(t, ["models\\tManage base models and trained models.", "chat\\t"]);
  const { replies, asked } = offered(folder, "hone jobs ");
  assert.deepEqual(replies, ["models", "chat"]);
  assert.equal(asked, "complete\n--\njobs\n\n");
});

test(
  "bash gets only the part after a colon or an equals sign, because it ends words there",
  { skip },
  (t) => {
    const folder = folderWithHone(t, ["p/agent:step1\\t", "p/agent:step2\\t"]);
    assert.deepEqual(offered(folder, "hone models pin p/agent:s").replies, ["step1", "step2"]);
    const flags = folderWithHone(t, ["--format=peft\\t"]);
    assert.deepEqual(offered(flags, "hone models export --format=").replies, ["peft"]);
  },
);

test("bash completes files and folders itself, including names with spaces", { skip }, (t) => {
  const files = folderWithHone(t, [":files"]);
  mkdirSync(join(files, "some folder"));
  assert.deepEqual(offered(files, "hone models add ho").replies, ["hone"]);
  assert.deepEqual(offered(folderWithFolder(t), "hone models import so").replies, ["some folder"]);
});

function folderWithFolder(t: TestContext): string {
  const folder = folderWithHone(t, [":folders"]);
  mkdirSync(join(folder, "some folder"));
  writeFileSync(join(folder, "some file"), "");
  return folder;
}

const without = (shell: string): string | false =>
  spawnSync(shell, ["--version"]).status === 0 ? false : `there is no ${shell} here`;

test("zsh can parse its script", { skip: without("zsh") }, () => {
  const { status, stderr } = spawnSync("zsh", ["-n"], { input: shellScripts.zsh, encoding: "utf8" });
  assert.deepEqual([status, stderr], [0, ""]);
});

test("fish offers values with descriptions", { skip: without("fish") }, (t) => {
  const folder = folderWithHone(t, ["models\\tManage base models and trained models."]);
  writeFileSync(join(folder, "hone.fish"), shellScripts.fish);
  const offeredBy = (line: string): string =>
    spawnSync("fish", ["--no-config", "-c", `source hone.fish; complete -C "${line}"`], {
      cwd: folder,
      encoding: "utf8",
      env: { ...process.env, PATH: `${folder}:${process.env["PATH"]}` },
    }).stdout;
  assert.equal(offeredBy("hone mo"), "models\tManage base models and trained models.\n");
});

test("bash gets completions from the real program", { skip }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-completion-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const main = fileURLToPath(new URL("../main.js", import.meta.url));
  writeFileSync(
    join(folder, "hone"),
    `#!/usr/bin/env bash\nexec "${process.execPath}" --input-type=module -e 'const { main } = await import(process.argv[1]); await main(process.argv.slice(2));' "${main}" "$@"\n`,
  );
  chmodSync(join(folder, "hone"), 0o755);
  assert.deepEqual(offered(folder, "hone jo").replies, ["jobs"]);
  assert.deepEqual(offered(folder, "hone completion ").replies, ["bash", "zsh", "fish"]);
  assert.ok(offered(folder, "hone serve --engine-th").replies.includes("--engine-threads"));
});
