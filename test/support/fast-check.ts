import fc from 'fast-check';

// The same values in every run, so that a new failure comes from a code change. `npm run fuzz` uses other seeds.
fc.configureGlobal({ seed: 1 });

export default fc;
