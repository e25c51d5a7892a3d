// Test suite for the contract of long-lived components. Every implementation of `Service` passes it.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Service } from "../lifecycle.ts";
import { ServiceError } from "../service-error.ts";

export interface ServiceUnderTest {
  readonly service: Service;
  /** Number of running instances of the service: 1 after a start, 0 after a stop. */
  readonly upCount: () => number | Promise<number>;
}

export interface ServiceSuite {
  /** Name of the implementation in the names of tests. */
  readonly name: string;
  /** Returns a new service that is not started. */
  readonly make: (t: TestContext) => ServiceUnderTest | Promise<ServiceUnderTest>;
  /** Maker of services whose start fails with the error code `code`; null if a start cannot fail. */
  readonly failing: {
    readonly code: string;
    readonly make: (t: TestContext) => ServiceUnderTest | Promise<ServiceUnderTest>;
  } | null;
}

/** Registers the tests of the suite for one implementation. */
export function checkService({ name, make, failing }: ServiceSuite): void {
  test(`${name}: starts once and stops once, however often it is asked`, async (t) => {
    const { service, upCount } = await make(t);
    await Promise.all([service.start(), service.start()]);
    await service.start();
    assert.equal(await upCount(), 1);
    await Promise.all([service.stop(), service.stop()]);
    assert.equal(await upCount(), 0);
    await service.stop();
    await assert.rejects(service.start(), isUnavailable);
    assert.equal(await upCount(), 0);
  });

  test(`${name}: a stop before the start prevents it`, async (t) => {
    const { service, upCount } = await make(t);
    await service.stop();
    await assert.rejects(service.start(), isUnavailable);
    assert.equal(await upCount(), 0);
  });

  test(`${name}: a stop during the start breaks it off`, async (t) => {
    const { service, upCount } = await make(t);
    const started = assert.rejects(service.start(), isUnavailable);
    await service.stop();
    assert.equal(await upCount(), 0);
    await started;
  });

  if (failing === null) return;
  test(`${name}: a start that failed can be stopped`, async (t) => {
    const { service, upCount } = await failing.make(t);
    const failed = (error: unknown): boolean => error instanceof ServiceError && error.code === failing.code;
    await assert.rejects(service.start(), failed);
    await assert.rejects(service.start(), failed);
    await service.stop();
    assert.equal(await upCount(), 0);
  });
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "unavailable";
}
