// Tests that entities are isolated. A request with another entity's id, in any spelling and on any route, neither reads
// nor writes that entity's data. Its answer reveals no more than the answer about an object that does not exist.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { LightMyRequestResponse } from "fastify";
import { present } from "../src/base/domain/assert.ts";
import { searchedOf } from "../src/base/domain/testing/search.ts";
import { keys } from "../src/api/http/testing/fake-server.ts";
import { attemptsWith, openRoutes, type Attempt } from "./entity-routes.ts";
import { fill, keyOf, namesOf, newWorld, recordOf, type Things, type World } from "./two-entities.ts";

// Entity names of equal length, so that answers which contain them also have equal lengths.
const [owner, bystander, asker, nobody] = ["theta", "gamma", "delta", "omega"] as const;

const world = await newWorld([owner, bystander, asker]);
const [others, bystanders, own] = (await fill(world, [owner, bystander, asker])) as [Things, Things, Things];
const none = namesOf(nobody);

after(() => world.close());

/** Returns every registered route by method and path. HEAD is covered by GET. */
function registeredRoutes({ server }: World): readonly string[] {
  const parts: string[] = [];
  return server.app
    .printRoutes({ commonPrefix: false })
    .split("\n")
    .flatMap((line) => {
      const match = /^(.*)[├└]── (\S+) \((.*)\)$/.exec(line);
      if (match === null) return [];
      const [, indent, part, methods] = match;
      parts.splice(indent.length / 4, Infinity, part);
      const names = methods.split(", ").filter((method) => method !== "HEAD");
      // The list omits the slash before a wildcard.
      const path = parts.join("").replace(/(?<!\/)\*$/, "/*");
      return names.map((method) => `${method} ${path}`);
    });
}

/**
 * Returns an answer in a form that can be compared with other answers. Leaves out the parts that differ between any two
 * requests, and replaces the names of objects by placeholders.
 */
function comparable({ statusCode, headers, body }: LightMyRequestResponse, things: Things): string {
  const { date: _, ...rest } = headers;
  const text = Object.entries(things).reduce(
    (named, [field, value]: [string, string]) => named.replaceAll(value, `<${field}>`),
    JSON.stringify([statusCode, rest, body]).toLowerCase(),
  );
  return text
    .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, "<id>")
    .replaceAll(/hone_\w{43}/g, "<secret>")
    .replaceAll(/whsec_[\w+/]+=*/g, "<secret>")
    .replaceAll(/\d{4}-\d\d-\d\dt[\d:.]+z|\b(?:created|created_at|completed_at)\W+\d{10}/g, "<time>");
}

/** Returns another entity's ids that occur in the answer but not in the request. */
function idsShown(answer: LightMyRequestResponse, attempt: Attempt, things: Things): readonly string[] {
  const asked = decodeURIComponent(JSON.stringify(attempt)).toLowerCase();
  const shown = (JSON.stringify(answer.headers) + answer.body).toLowerCase();
  return Object.values(things).filter((id: string) => shown.includes(id) && !asked.includes(id));
}

/** A caller who sends attempts to a server. `own` contains the caller's own objects. */
interface Sender {
  readonly world: World;
  readonly key: string;
  readonly own: Things;
}

interface Answer {
  readonly attempt: Attempt;
  readonly status: number;
  /** The answer in a comparable form. Answers with the same meaning have equal texts. */
  readonly text: string;
}

/**
 * Sends attempts on every route with the things of each owner, and checks the answers. If an attempt has many
 * spellings, sends a sample of them. Also sends one GET attempt as HEAD.
 */
async function sendAll(
  sender: Sender,
  allThings: readonly Things[],
  check: (answers: readonly Answer[]) => void,
): Promise<void> {
  const tables = allThings.map((things) => ({ things, table: attemptsWith(things, sender.own) }));
  for (const [route, attempts] of Object.entries(attemptsWith(none, sender.own))) {
    const indexes = [...attempts.keys()];
    const asHead = new Set(route.startsWith("GET ") ? searchedOf(indexes, 1, `HEAD ${route}`) : []);
    for (const index of searchedOf(indexes, 2, route))
      for (const isHead of asHead.has(index) ? [true, false] : [false]) {
        const answers: Answer[] = [];
        for (const { things, table } of tables) {
          const attempt = present(table[route]?.[index], "the attempt");
          answers.push(await answerTo(sender, isHead ? { ...attempt, method: "HEAD" } : attempt, things));
        }
        check(answers);
      }
  }
}

async function answerTo({ world, key }: Sender, attempt: Attempt, things: Things): Promise<Answer> {
  const answer = await world.ask(attempt, key);
  assert.deepEqual(idsShown(answer, attempt, things), [], `${described(attempt)}: ${answer.body}`);
  return { attempt, status: answer.statusCode, text: comparable(answer, things) };
}

function described({ method, url, body }: Attempt): string {
  return `${method} ${url} ${JSON.stringify(body ?? "")}`;
}

/** Returns everything that the API shows about an entity's objects to the entity itself and to the administrator. */
async function everythingOf(things: Things): Promise<readonly string[]> {
  const { modelId, jobId, endedJobId, fileId, fineTuningId, ruleId, webhookId } = things;
  const { entity, project, feedbackId } = things;
  const model = `/v1/preview/models/${modelId}`;
  const jobs = "/v1/preview/training-jobs";
  const reads = [
    `/v1/preview/models?entity=${entity}&limit=100`,
    ...["", "/checkpoints", "/trajectories", "/metrics"].map((tail) => model + tail),
    `${jobs}?model_id=${modelId}`,
    `/v1/preview/reward-rules/${ruleId}`,
    ...["", "/content"].map((tail) => `/v1/files/${fileId}${tail}`),
    ...["", "/events"].map((tail) => `/v1/fine_tuning/jobs/${fineTuningId}${tail}`),
    ...["", "/deliveries"].map((tail) => `/v1/preview/webhooks/${webhookId}${tail}`),
    ...[jobId, endedJobId].flatMap((id) => [`${jobs}/${id}`, `${jobs}/${id}/events`]),
  ].map((url) => ({ method: "GET", url }) as const);
  const projectId = `${entity}/${project}`;
  const history = { project_id: projectId, feedback_id: feedbackId };
  const content = { ...recordOf(things), payload: { said: "again" } };
  const writes = [
    { method: "POST", url: "/feedback/history", body: history },
    // Repeats a request with content that is already stored; the answer must be the first one.
    { method: "POST", url: "/feedback/create", body: content },
  ] as const;
  const texts: string[] = [];
  for (const key of [keyOf(entity), keys.admin])
    for (const request of [...reads, ...writes]) {
      const answer = await world.ask(request, key);
      assert.equal(answer.statusCode, 200, `${request.url}: ${answer.body}`);
      texts.push(answer.body);
    }
  return [...texts, (await world.ask({ method: "GET", url: "/v1/models" }, keyOf(entity))).body];
}

test("every route has attempts", () => {
  const known = [...Object.keys(attemptsWith(others, own)), ...openRoutes].sort();
  assert.deepEqual(registeredRoutes(world).toSorted(), known);
});

test("with ids of another entity, no route reads, writes or reveals anything", async () => {
  const untouched = await everythingOf(others);
  await sendAll({ world, key: keyOf(asker), own }, [others, bystanders, none], ([first, second, last]) => {
    const { status, statusOfNone = status } = first.attempt;
    assert.deepEqual([first.status, last.status], [status, statusOfNone], described(first.attempt));
    assert.equal(first.text, second.text);
    // A caller who knows a model's id learns only that the model belongs to another entity.
    if (statusOfNone === status) assert.equal(first.text, last.text);
  });
  assert.deepEqual(await everythingOf(others), untouched);
});

test("lists show only the caller's own things, and the administrator everything", async () => {
  const listed = async (url: string, key: string, field: string): Promise<readonly string[]> => {
    const { data } = (await world.ask({ method: "GET", url }, key)).json<{
      data: Record<string, string>[];
    }>();
    return data.map((item) => item[field] ?? "");
  };
  const lists = { "/v1/models": "owned_by", "/v1/preview/models": "entity" } as const;
  for (const [url, field] of Object.entries(lists)) {
    const base = url === "/v1/models" ? ["hone"] : [];
    for (const entity of [owner, bystander])
      assert.deepEqual(
        new Set(await listed(`${url}?limit=100`, keyOf(entity), field)),
        new Set([...base, entity]),
      );
    const all = new Set([...base, owner, bystander, asker]);
    assert.deepEqual(new Set(await listed(`${url}?limit=100`, keys.admin, field)), all);
  }
  const jobs = "/v1/preview/training-jobs?limit=100";
  assert.deepEqual(await listed(jobs, keyOf(owner), "id"), [others.jobId, others.endedJobId]);
  const everybodys = await listed(jobs, keys.admin, "id");
  for (const { jobId, endedJobId } of [others, bystanders, own])
    assert.ok(everybodys.includes(jobId) && everybodys.includes(endedJobId));
});

test("routes without credentials reveal nothing about any entity", async () => {
  for (const route of openRoutes) {
    const url = route.slice("GET ".length).replace("*", others.modelId);
    const { body } = await world.ask({ method: "GET", url }, null);
    for (const id of Object.values(others))
      assert.ok(url.includes(id) || !new RegExp(`\\b${id}\\b`).test(body), `${url} says ${id}`);
  }
});

for (const role of searchedOf(["member", "admin"] as const, 1))
  test(`keys and ids of one server are unknown on another, even to its ${role}`, async (t) => {
    const stranger = "sigma";
    const second = await newWorld([stranger]);
    t.after(() => second.close());
    const [mine] = await fill(second, [stranger]);
    assert.ok(mine !== undefined);
    for (const [route, attempts] of Object.entries(attemptsWith(others, mine)))
      for (const attempt of searchedOf(attempts, 2, route))
        assert.equal((await second.ask(attempt, keyOf(owner))).statusCode, 401, described(attempt));
    const sender = { world: second, key: role === "admin" ? keys.admin : keyOf(stranger), own: mine };
    await sendAll(sender, [others, none], ([first, last]) =>
      assert.equal(first.text, last.text, described(first.attempt)),
    );
  });

test("the owner may do what another entity may not", async () => {
  for (const [route, [attempt]] of Object.entries(attemptsWith(others, others))) {
    assert.ok(attempt !== undefined, route);
    const { statusCode, body } = await world.ask(attempt, keyOf(owner));
    assert.equal(statusCode, attempt.statusOfOwner ?? 200, `${route}: ${body}`);
  }
});
