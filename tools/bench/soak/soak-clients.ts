// Clients that keep a server busy until they are stopped. Many send requests, and sometimes disconnect before the
// answer is complete. One publishes new versions of models and deletes older ones.
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom, type Random } from "../../../src/base/domain/random.ts";
import { call, type RunningServer } from "../../../test/running-server.ts";
import { finish, registerModel, submitJob } from "../../../test/served-jobs.ts";
import { randomRequest } from "./random-bodies.ts";

export interface SoakCounts {
  answered: number;
  /** Number of requests whose client disconnected. */
  left: number;
  /** Number of requests refused as overloaded, which is a valid response. */
  refused: number;
  published: number;
  removed: number;
  /** Failures, one per line. */
  readonly failures: string[];
}

const clientCount = 12;
const modelCount = 3;
/** Number of versions to keep for each model. */
const keptVersions = 2;
const publishEveryMs = 3000;
const failuresMax = 100;

export class SoakClients {
  readonly counts: SoakCounts = {
    answered: 0,
    left: 0,
    refused: 0,
    published: 0,
    removed: 0,
    failures: [],
  };
  readonly #server: RunningServer;
  readonly #seed: number;
  readonly #over = new AbortController();
  #modelIds: readonly string[] = [];

  constructor(server: RunningServer, seed: number) {
    this.#server = server;
    this.#seed = seed;
  }

  /** Runs until {@link SoakClients.end} is called and all pending requests are answered. */
  async run(): Promise<void> {
    const archive = await this.#prepare();
    const asking = Array.from({ length: clientCount }, (_, client) => this.#askOn(client));
    await Promise.all([...asking, this.#publishOn(archive)]);
  }

  end(): void {
    this.#over.abort();
  }

  /** Creates models and trains one; returns its adapter as an archive. */
  async #prepare(): Promise<Uint8Array<ArrayBuffer>> {
    const names = Array.from({ length: modelCount }, (_, index) => `soaked-${index}`);
    this.#modelIds = await Promise.all(names.map((name) => registerModel(this.#server, name)));
    await finish(this.#server, await submitJob(this.#server, this.#modelIds[0], 2));
    const { url, apiKey } = this.#server;
    const exported = await fetch(
      `${url}/v1/preview/models/${this.#modelIds[0]}/checkpoints/1/export?format=peft`,
      { headers: { authorization: `Bearer ${apiKey}` } },
    );
    return new Uint8Array(await exported.arrayBuffer());
  }

  async #askOn(client: number): Promise<void> {
    const random = seededRandom("soak", this.#seed, client);
    while (!this.#over.signal.aborted) {
      await this.#ask(random);
      // Pauses longer after about one request in twenty.
      await sleep(random.index(20) === 0 ? random.index(3000) : random.index(50));
    }
  }

  async #ask(random: Random): Promise<void> {
    const { path, body } = randomRequest(random, ["tiny", ...this.#modelIds]);
    const { url, apiKey } = this.#server;
    const leaving = new AbortController();
    const timer = random.index(4) === 0 ? setTimeout(() => leaving.abort(), random.index(1500)) : undefined;
    try {
      const response = await fetch(url + path, {
        method: "POST",
        signal: leaving.signal,
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const text = await response.text();
      if (response.status === 429 || response.status === 503) this.counts.refused += 1;
      else if (response.status !== 200 || /^data: \{"error"/m.test(text)) this.#fail(path, body, text);
      else this.counts.answered += 1;
    } catch (error) {
      if (leaving.signal.aborted) this.counts.left += 1;
      else this.#fail(path, body, String(error));
    } finally {
      clearTimeout(timer);
    }
  }

  async #publishOn(archive: Uint8Array<ArrayBuffer>): Promise<void> {
    for (let turn = 0; !this.#over.signal.aborted; turn++) {
      await this.#publish(this.#modelIds[turn % modelCount], archive);
      await sleep(publishEveryMs);
    }
  }

  async #publish(modelId: string, archive: Uint8Array<ArrayBuffer>): Promise<void> {
    const { url, apiKey } = this.#server;
    const path = `/v1/preview/models/${modelId}/checkpoints`;
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/x-tar" };
    const answer = await fetch(url + path, { method: "POST", headers, body: archive });
    const text = await answer.text();
    if (answer.status !== 200) return this.#fail(path, "an adapter", text);
    this.counts.published += 1;
    const step = (JSON.parse(text) as { readonly step: number }).step - keptVersions;
    if (step < 1) return;
    const { status, body } = await call(this.#server, "DELETE", path, { body: { steps: [step] } });
    if (status !== 200) return this.#fail(path, { steps: [step] }, JSON.stringify(body));
    this.counts.removed += 1;
  }

  #fail(path: string, body: unknown, what: string): void {
    const { failures } = this.counts;
    if (failures.length < failuresMax)
      failures.push(`${path} ${JSON.stringify(body).slice(0, 600)}: ${what.slice(0, 600)}`);
  }
}
