#!/usr/bin/env node
// The `hone` command. In a checkout it installs and builds what is missing first.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundledEntry, root, setUp } from "../scripts/setup.js";

if (existsSync(join(root, "src"))) setUp();
const { main } = await import(pathToFileURL(join(root, bundledEntry)).href);
await main(process.argv.slice(2));
