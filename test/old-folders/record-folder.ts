// Makes the data folder that a version of this program leaves behind, with what it answered over it, for old-folders.test.ts.
// It is run by hand where a version of the database ends, in a checkout that is built:
// `node <today's checkout>/dist/test/old-folders/record-folder.js <folder to make>` starts the server of the working folder.
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { sql } from "kysely";
import { openSqlite } from "../../src/store/storage/sqlite/sqlite-dialect.ts";
import { call, newDataFolder, removeDataFolder, startServer, type RunningServer } from "../running-server.ts";
import { finish, goldenTiny, registerModel } from "../served-jobs.ts";
import { answersOf, type Recorded } from "./answers.ts";

const target = resolve(process.argv[2] ?? "");
const dataFolder = newDataFolder();
const server = await startServer({ dataFolder, flags: [...goldenTiny, "--training-lora-rank", "1"] });
const recorded = await fill(server);
const answers = await answersOf(server, recorded);
// What is not finished when the server dies is another start's.
await train(server, recorded.modelId);
await server.kill();
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
writeFileSync(join(target, "hone.sql"), await dump(join(dataFolder, "hone.db")));
writeFileSync(join(target, "answers.json"), `${JSON.stringify({ recorded, answers }, null, 1)}\n`);
for (const name of readdirSync(dataFolder))
  if (["adapters", "admin-key", "files"].includes(name))
    cpSync(join(dataFolder, name), join(target, name), { recursive: true });
removeDataFolder(dataFolder);

/** A model with two versions, what was logged and said of it, and whatever else this version has already. */
async function fill(to: RunningServer): Promise<Recorded> {
  const modelId = await registerModel(to, "m");
  const jobIds: string[] = [];
  for (let count = 0; count < 2; count++) {
    const id = await train(to, modelId);
    await finish(to, id);
    jobIds.push(id);
  }
  if (process.argv[3] === "built-in") await trainBuiltIn(to);
  const { body: found } = await call(to, "GET", `/v1/preview/models/${modelId}`);
  const projectId = `${found.entity}/p`;
  for (const split of ["val", "train"])
    await post(to, `/v1/preview/models/${modelId}/log`, {
      split,
      trajectory_groups: [
        { trajectories: [{ reward: 0.5, metrics: { won: true }, metadata: { scenario_id: "é" } }] },
      ],
    });
  const feedback = (id: string, value: number): object => ({
    id,
    project_id: projectId,
    vendor_ref: `wandb-trace-internal:///${projectId}/call/019a0000-0000-7000-8000-000000000000`,
    feedback_type: "score",
    payload: { value },
  });
  for (const value of [1, 2]) {
    const id = `record-${value}`;
    await call(to, "POST", "/feedback/create", { body: feedback(id, value), scheme: "Basic" });
  }
  const replacement = { ...feedback("record-1", 3), feedback_id: "record-1" };
  await call(to, "POST", "/feedback/replace", { body: replacement, scheme: "Basic" });
  // What came later is refused by earlier versions.
  await call(to, "PUT", `/v1/preview/models/${modelId}/checkpoints/1/pin`);
  return { modelId, jobIds, projectId };
}

async function train(to: RunningServer, modelId: string): Promise<string> {
  const question = { role: "user", content: "hi" };
  const { body } = await call(to, "POST", "/v1/chat/completions", {
    body: { model: modelId, messages: [question], n: 2, max_tokens: 4, temperature: 1, seed: 7 },
  });
  const trajectories = body.choices.map((choice: object, reward: number) => ({
    messages_and_choices: [question, choice],
    reward,
  }));
  const job = await post(to, "/v1/preview/training-jobs", {
    model_id: modelId,
    trajectory_groups: [{ trajectories }],
    experimental_config: { learning_rate: 0.05 },
  });
  return job.id;
}

/** A version over the built-in model, whose weights may be others by now. */
async function trainBuiltIn(to: RunningServer): Promise<void> {
  const registration = { project: "p", name: "built-in", base_model: "hone-tiny" };
  const { id } = await post(to, "/v1/preview/models", registration);
  await finish(to, await train(to, id));
}

async function post(to: RunningServer, path: string, body: object): Promise<any> {
  const answer = await call(to, "POST", path, { body });
  if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** The database as SQL, a statement a line. */
async function dump(file: string): Promise<string> {
  const { queries } = openSqlite({ file: file, isShared: true });
  const lines: string[] = [];
  const { rows: parts } = await sql<{ name: string; type: string; sql: string }>`
    select name, type, sql from sqlite_master where sql is not null order by type = 'index', rowid`.execute(
    queries,
  );
  for (const { name, type, sql: text } of parts) {
    if (!name.startsWith("sqlite_")) lines.push(text.replaceAll(/\s+/g, " "));
    if (type !== "table") continue;
    const { rows: columns } = await sql<{
      name: string;
    }>`select name from pragma_table_info(${name})`.execute(queries);
    const values = columns.map((column) => `quote("${column.name}")`).join(" || ',' || ");
    const { rows } = await sql<{
      line: string;
    }>`select ${sql.raw(values)} as line from ${sql.table(name)}`.execute(queries);
    lines.push(...rows.map(({ line }) => `insert into ${name} values (${line})`));
  }
  await queries.destroy();
  return `${lines.join("\n")}\n`;
}
