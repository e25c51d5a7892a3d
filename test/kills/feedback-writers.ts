// Clients that write feedback concurrently until their server dies: single records, batches, replacements and purges.
// Afterwards they send half of the unanswered operations again, and give up the others.
import type { Random } from "../../src/base/domain/random.ts";
import { call, type RunningServer } from "../running-server.ts";
import { FeedbackLedger, type Change, type Said } from "./feedback-ledger.ts";

const batchSizeMax = 2000;
/** Number of records per page. */
const pageSize = 1000;

interface Operation {
  readonly path: "create" | "batch/create" | "replace" | "purge";
  readonly body: object;
  readonly change: Change;
}

export class FeedbackWriters {
  readonly ledger = new FeedbackLedger();
  readonly #operations = new Map<Change, Operation>();
  readonly #server: RunningServer;
  readonly #random: Random;
  readonly #projectId: string;
  readonly #reference: string;
  #isOver = false;
  #count = 0;

  /** @param name name of their project, which only these writers use */
  constructor(server: RunningServer, random: Random, name: string) {
    this.#server = server;
    this.#random = random;
    this.#projectId = `local/${name}`;
    this.#reference = `weave:///${this.#projectId}/call/1`;
  }

  /** Resolves when the server has died. */
  async write(): Promise<void> {
    await Promise.all([
      this.#repeat(() => this.#createOne()),
      this.#repeat(() => this.#createOne()),
      this.#repeat(() => this.#createOne()),
      this.#repeat(() => this.#createBatch()),
      this.#repeat(() => this.#createBatch()),
      this.#repeat(() => this.#createAndReplace()),
      this.#repeat(() => this.#createAndPurge()),
    ]);
  }

  /** Makes each writer stop when an operation is not answered. */
  end(): void {
    this.#isOver = true;
  }

  /**
   * Sends half of the unanswered operations again.
   *
   * @returns descriptions of answers that differ from the first ones
   */
  async sendAgain(server: RunningServer): Promise<readonly string[]> {
    const faults: string[] = [];
    for (const change of this.ledger.unanswered) {
      const operation = this.#operations.get(change);
      // Replacements are not resent: replacing again would be another replacement, and the record may have been purged
      // meanwhile.
      if (operation === undefined || operation.path === "replace" || this.#random.uniform() < 0.5) continue;
      const { status, body } = await this.#post(server, operation);
      if (status === 200) this.ledger.acknowledge(change);
      else faults.push(`${operation.path} sent again: ${status} ${JSON.stringify(body)}`);
    }
    return faults;
  }

  /**
   * Compares the stored records with the acknowledged ones.
   *
   * @returns descriptions of the differences
   */
  async check(server: RunningServer): Promise<readonly string[]> {
    const stored: { readonly id: string; readonly said: string }[] = [];
    for (;;) {
      const expression = { $eq: [{ $getField: "weave_ref" }, { $literal: this.#reference }] };
      const query = {
        project_id: this.#projectId,
        query: { $expr: expression },
        limit: pageSize,
        offset: stored.length,
      };
      const { status, body } = await call(server, "POST", "/feedback/query", {
        body: query,
        scheme: "Basic",
      });
      if (status !== 200) throw new Error(`a query: ${JSON.stringify(body)}`);
      stored.push(...body.result.map((record: any) => ({ id: record.id, said: record.payload.said })));
      if (body.result.length === 0 || stored.length >= body.total_count) break;
    }
    return [...this.ledger.compare(stored), ...(await this.#checkRevisions(server))];
  }

  async #checkRevisions(server: RunningServer): Promise<readonly string[]> {
    const faults: string[] = [];
    for (const [id, { least, most }] of this.ledger.revisions) {
      const body = { project_id: this.#projectId, feedback_id: id };
      const { status, body: history } = await call(server, "POST", "/feedback/history", {
        body,
        scheme: "Basic",
      });
      const count: number = status === 200 ? history.result.length : -1;
      const isWhole = status === 200 && (history.has_more === true || (count >= least && count <= most));
      // A record that was never acknowledged may be missing.
      if (!isWhole && !(status === 404 && least === 0))
        faults.push(`${id}: ${count} revisions of ${least} to ${most} replacements`);
    }
    return faults;
  }

  async #repeat(send: () => Promise<boolean>): Promise<void> {
    while (!this.#isOver && (await send()));
  }

  #createOne(): Promise<boolean> {
    const id = this.#newId();
    return this.#send({ path: "create", body: this.#item(id, "first"), change: new Map([[id, "first"]]) });
  }

  #createBatch(): Promise<boolean> {
    const ids = Array.from({ length: 1 + this.#random.index(batchSizeMax) }, () => this.#newId());
    return this.#send({
      path: "batch/create",
      body: { batch: ids.map((id) => this.#item(id, "first")) },
      change: new Map(ids.map((id) => [id, "first"])),
    });
  }

  async #createAndReplace(): Promise<boolean> {
    const id = this.#newId();
    const isCreated = await this.#send({
      path: "create",
      body: this.#item(id, "first"),
      change: new Map([[id, "first"]]),
    });
    if (!isCreated) return false;
    for (let round = 1 + this.#random.index(4); round > 0; round--) {
      const { id: _id, ...item } = this.#item(id, `replacement ${round}`);
      const change = new Map([[id, `replacement ${round}`]]);
      if (!(await this.#send({ path: "replace", body: { ...item, feedback_id: id }, change }))) return false;
    }
    return true;
  }

  async #createAndPurge(): Promise<boolean> {
    const ids = Array.from({ length: 20 }, () => this.#newId());
    const isCreated = await this.#send({
      path: "batch/create",
      body: { batch: ids.map((id) => this.#item(id, "first")) },
      change: new Map(ids.map((id) => [id, "first"])),
    });
    if (!isCreated) return false;
    const gone = ids.slice(0, 1 + this.#random.index(ids.length));
    const parts = gone.map((id) => ({ $eq: [{ $getField: "id" }, { $literal: id }] }));
    return this.#send({
      path: "purge",
      body: { project_id: this.#projectId, query: { $expr: { $or: parts } } },
      change: new Map(gone.map((id): [string, Said] => [id, null])),
    });
  }

  #newId(): string {
    this.#count += 1;
    return `${this.#projectId}-${this.#count}`;
  }

  #item(id: string, said: string) {
    const [project_id, weave_ref] = [this.#projectId, this.#reference];
    return { id, project_id, weave_ref, feedback_type: "check", payload: { said } };
  }

  /** @returns true if the operation was answered, false if the server has died */
  async #send(operation: Operation): Promise<boolean> {
    const { change, path } = operation;
    this.#operations.set(change, operation);
    this.ledger.begin(change, path === "replace");
    const answer = await this.#post(this.#server, operation).catch(() => null);
    if (answer === null) return false;
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    this.ledger.acknowledge(change, path === "replace");
    this.#operations.delete(change);
    return true;
  }

  #post(server: RunningServer, { path, body }: Operation) {
    return call(server, "POST", `/feedback/${path}`, { body, scheme: "Basic" });
  }
}
