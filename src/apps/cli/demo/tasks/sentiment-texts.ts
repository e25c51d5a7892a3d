// The words and texts of the sentiment task. Practice and test use different sentiment words, things, sentences and
// reviews, so a model cannot pass the test by memorizing.

export const sentiments = ["positive", "negative"] as const;
export type Sentiment = (typeof sentiments)[number];

/** Material for texts: frames that are filled with a thing and a word, and reviews that are used unchanged. */
export interface SentimentTexts {
  readonly things: readonly string[];
  readonly words: Readonly<Record<Sentiment, readonly string[]>>;
  /** Sentences with the placeholders `{thing}`, `{word}`, and `{a word}` for the word with its article. */
  readonly frames: readonly string[];
  readonly reviews: Readonly<Record<Sentiment, readonly string[]>>;
}

/** Material for practice questions. */
export const practiceTexts: SentimentTexts = {
  things: listOf(
    "film book hotel soup phone concert coffee game tour bicycle show breakfast garden lamp lesson song camera ferry beach tent",
  ),
  words: {
    positive: listOf(
      "wonderful great lovely superb delightful fantastic perfect charming brilliant pleasant impressive good splendid cosy",
    ),
    negative: listOf(
      "terrible awful boring disappointing horrible bad dreadful poor useless annoying lousy ugly tiresome overpriced",
    ),
  },
  frames: [
    "The {thing} was {word}.",
    "What {a word} {thing}!",
    "I found the {thing} {word}, and so did my sister.",
    "Honestly, the {thing} was {word} from start to finish.",
    "We all thought that the {thing} was {word}.",
    "It was {a word} {thing}, and I told everybody so.",
  ],
  reviews: {
    positive: [
      "I loved every minute of it.",
      "We tried it last week, and I would choose it again at once.",
      "It made my day, and it was worth every penny.",
      "My brother told me about it. I could not be happier.",
      "The staff smiled, the room was spotless, and we got an upgrade for free.",
      "It does exactly what it says on the box, and it looks nice too.",
      "The doctor took her time and answered all of my questions.",
      "The children laughed the whole way through and want to see it again.",
      "It arrived a day early, well packed, and fits like a glove.",
      "We have been coming here for ten years and have never been let down.",
      "The dough was crisp, the salad was fresh, and the owner gave us a dessert on the house.",
      "After a month of daily use it still runs as it did on the first day.",
      "I finished it in one evening and bought the sequel the next morning.",
      "The view from our window was worth the journey alone.",
    ],
    negative: [
      "I hated every minute of it.",
      "We tried it last week, and I would never choose it again.",
      "It ruined my day, and it was a waste of money.",
      "My brother warned me about it. I should have listened.",
      "The staff shrugged, the room smelled of smoke, and we had to ask twice for towels.",
      "It does nothing of what it says on the box, and it fell apart in my hands.",
      "The doctor did not look up once and sent me home without an answer.",
      "The children were asleep after ten minutes, and so was I.",
      "It arrived a week late, in a torn box, and does not fit.",
      "We came here for ten years, but this was the last time.",
      "The dough was burnt, the salad was limp, and the owner laughed when we complained.",
      "After two days the screen went black, and nobody answers my letters.",
      "I put it down after the second chapter and gave it away the next morning.",
      "All we saw from our window was a wall, and we heard every lorry.",
    ],
  },
};

/** Texts for test questions. No job trains on them. */
export const testTexts: SentimentTexts = {
  things: listOf("pizza novel laptop journey museum haircut jacket room play dentist cake radio"),
  words: {
    positive: listOf(
      "amazing marvellous outstanding beautiful enjoyable terrific magnificent excellent incredible delicious fabulous fascinating",
    ),
    negative: listOf(
      "dull disgusting nasty unpleasant mediocre pathetic appalling worthless shabby atrocious dismal frustrating",
    ),
  },
  frames: [
    "Everyone at work agrees that this {thing} is {word}.",
    "I have never come across such {a word} {thing}.",
    "If you ask me, the {thing} turned out to be {word}.",
    "You will see for yourself how {word} the {thing} is.",
  ],
  reviews: {
    positive: [
      "The waiter remembered us from last year and brought crayons for the kids before we had even sat down. The fish was tender, the bread was warm, and the bill was smaller than we had expected.",
      "I bought these boots for a week of walking in the rain, and my feet stayed dry all the time. I have already ordered a second pair for my husband.",
      "The story drew me in at once, and the ending had me in tears. Go and see it while it is still in the cinemas.",
      "Setting it up took five minutes, and it has worked without a problem ever since. The battery easily lasts for two days.",
      "Our guide knew everything about the old town and had a joke for every corner. The three hours went by far too fast.",
      "We slept like babies. The bed was soft, the street was quiet, and dinner on the terrace was a treat.",
      "My grandmother, who had never used a computer, was writing emails on the first evening. I cannot praise it enough.",
      "Even from the cheap seats the orchestra sounded glorious, and the audience would not stop clapping.",
    ],
    negative: [
      "We sat for an hour before anybody took our order, and when the food came it was cold. They still charged us for the drinks that we never got.",
      "The zip broke on the second day, and the shop refused to take it back. I will not be buying anything from them again.",
      "The plot makes no sense, the actors look as if they would rather be elsewhere, and half of the audience left before the end.",
      "It crashes every time I open a photo. Support told me to switch it off and on again, and then stopped replying.",
      "Our guide was late, read everything from a sheet of paper and lost two of us on the way. Save your money.",
      "There was mould in the bathroom and a party next door until four in the morning. We left early.",
      "The printer jams on every other page, and a new cartridge costs more than the machine did.",
      "The singer forgot the words, the sound was far too loud, and it was all over within forty minutes.",
    ],
  },
};

function listOf(words: string): readonly string[] {
  return words.split(" ");
}
