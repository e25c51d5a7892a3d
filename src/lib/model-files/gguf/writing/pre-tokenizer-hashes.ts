// Hashes by which llama.cpp's converter recognizes byte-level tokenizers: the SHA-256 of the token ids of a fixed text.
// Source: the table in its conversion/base.py, for the pre-tokenizers that Hone reads.

/** The text whose token ids are hashed. It has many kinds of blanks, digits, letters and emojis. */
export const checkedText =
  "\n \n\n \n\n\n \t \t\t \t\n  \n   \n    \n     \n\ud83d\ude80 (normal) \ud83d\ude36\u200d\ud83c\udf2b\ufe0f (multiple emojis concatenated) \u2705 \ud83e\udd99\ud83e\udd99 3 33 333 3333 33333 333333 3333333 33333333 3.3 3..3 3...3 \u1780\u17b6\u1793\u17cb\u178f\u17c2\u1796\u17b7\u179f\u17c1\u179f\u17a2\u17b6\u1785\ud83d\ude01 ?\u6211\u60f3\u5728apple\u5de5\u4f5c1314151\u5929\uff5e ------======= \u043d\u0435\u0449\u043e \u043d\u0430 \u0411\u044a\u043b\u0433\u0430\u0440\u0441\u043a\u0438 ''''''```````\"\"\"\"......!!!!!!?????? I've been 'told he's there, 'RE you sure? 'M not sure I'll make it, 'D you like some tea? We'Ve a'lL";

/** Pre-tokenizers (`tokenizer.ggml.pre`) by the first sixteen characters of the hash. */
export const preTokenizersByHash: Readonly<Record<string, string>> = {
  "0fe1cf6eda062318": "gpt-2",
  "3ce83efda5659b07": "gpt-2",
  fcace8b9cac38ce8: "phi-2",
  ad851be1dba641f2: "gigachat",
  b0a6b1c0bd5998eb: "a.x-4.0",
  a1e163ecab2e718a: "mellum",
  "1994ffd01900cfb3": "trillion",
  b6dc8df998e1cfbd: "olmo",
  "53e325976a6e1423": "granite-docling",
  "855059429035d75a": "smollm",
  "35d91631860c815f": "starcoder",
  "6221ad2852e85ce9": "refact",
  "9c2227e4dd922002": "command-r",
  "1431a23e583c9743": "minerva-7b",
  "0ef9807a4087ebef": "llama-bpe",
  "9d032fcbd5501f4a": "falcon3",
  "9e454714343b69b9": "lfm2",
  "169bf0296a13c4d9": "lfm2",
  "0e9433cbbb161f89": "pixtral",
  f6791d196f87ce6b: "midm-2.0",
  c136ed14d01c2745: "smaug-bpe",
  a8594e3edff7c29c: "dbrx",
  d4540891389ea895: "qwen2",
  e636dc30a262dcc0: "qwen2",
  "1444df51289cfa80": "qwen35",
  d30d75d9059f1aa2: "qwen35",
  b3f499bb4255f8ca: "deepseek-r1-qwen",
  d4c8f286ea6b520b: "megrez",
  "4a2e2abae11ca2b8": "kormo",
  d5f1dd6f980fec56: "seed-coder",
  "32d85c31273f8019": "stablelm2",
  "63b97e4253352e6f": "tekken",
  ccc2ef013c104be7: "gpt-4o",
  d353350c764d8c3b: "llama4",
};
