"""How drift came and went: from what each look found to stretches of time, each open or closed.

Only looks that compared something count, in the order in which they were made: a run that could not reach a target, or
never was, neither opens nor closes anything there; nor does a look for an object that it could not tell.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reconciler.fleet.tables import DRIFT_HISTORY, fitted

PAIR = ("target", "topology")
THING = (*PAIR, "address", "spot")
"""One thing that can drift; its `spot` is the path, and empty for the object as a whole."""
ABOUT = ("labels", "kind", "team", "class", "standing", "live", "desired", "applied", "codes")
"""What was said of it when it was last seen."""
PAST = ("occurrence", "clean", "opened", "opened_run", "last_seen", "last_seen_run", "looks", "closed")


def drift_history(drift: DataFrame, before: DataFrame | None = None) -> DataFrame:
    """DRIFT of all runs → DRIFT_HISTORY. `before`, an earlier result, spares the looks that went into it: where it was
    made of the very looks there are (none written anew, none come late), only later ones are gone through."""
    looks = _looks(drift)
    before = fitted(drift.select("target").limit(0), DRIFT_HISTORY) if before is None else before
    known = _known(looks, before)
    fresh = _numbered(looks, known)
    past = before.where("address is not null").join(known.select(*PAIR), [*PAIR], "leftsemi")
    episodes = _dated(_episodes(_marks(drift, fresh, past)), fresh)
    rows = episodes.unionByName(past.where("closed is not null"), allowMissingColumns=True)
    newest = drift.groupBy("target").agg(F.max_by("run", _order()).alias("newest"))  # it may be about a few targets
    told = rows.join(newest, "target", "left").withColumn("state", _state())
    return told.unionByName(_watched(looks), allowMissingColumns=True).select(*DRIFT_HISTORY.names)


def counts() -> Column:
    """Is a row of DRIFT something that strayed and that nobody agreed to overlook?"""
    return F.coalesce("drifted", F.lit(False)) & ~_is_ignored()


def _is_ignored() -> Column:
    return F.coalesce("ignored", F.lit("")) != ""


def _looks(drift: DataFrame) -> DataFrame:
    """One row per run that compared a topology on a target with what was applied there; `mark` tells this look from every
    other, and from itself where the same snapshot was compared anew with another outcome."""
    is_look = F.col("standing") == "compared"
    whole = drift.where(is_look | ((F.col("standing") == "unknown") & F.col("address").isNull()))
    looks = whole.groupBy("run", *PAIR).agg(
        F.max("at").alias("at"), F.first("labels").alias("labels"), F.max(F.to_json("quantities")).alias("found"),
        F.bool_and(is_look).alias("is_sure"),
    ).where("is_sure").drop("is_sure")  # fmt: skip
    return looks.withColumn("mark", F.xxhash64("run", "at", "found"))


def _watched(looks: DataFrame) -> DataFrame:
    """Per topology and target: since when, until when, how often; the digest knows which looks these were."""
    return looks.groupBy(*PAIR).agg(
        F.max_by("labels", _order()).alias("labels"),
        F.lit("watched").alias("state"),
        F.min("at").alias("opened"),
        F.min_by("run", _order()).alias("opened_run"),
        F.max("at").alias("last_seen"),
        F.max_by("run", _order()).alias("last_seen_run"),
        F.count("*").alias("looks"),
        F.bit_xor("mark").alias("digest"),
    )


def _order() -> Column:
    return F.struct("at", "run")


def _known(looks: DataFrame, before: DataFrame) -> DataFrame:
    """The last look that went into `before`, where all looks up to it are still the same ones."""
    was = before.where("state = 'watched'").select(
        *PAIR, F.struct(F.col("last_seen").alias("at"), F.col("last_seen_run").alias("run")).alias("last"), "digest"
    )
    old = looks.join(was, [*PAIR], "inner").where(_order() <= F.col("last"))
    same = old.groupBy(*PAIR, "last", "digest").agg(F.bit_xor("mark").alias("now"))
    return same.where("now = digest").select(*PAIR, "last")


def _numbered(looks: DataFrame, known: DataFrame) -> DataFrame:
    """Looks to go through, from 1 on; the last known one, at which everything open still stood, counts as 0."""
    in_order = Window.partitionBy(*PAIR).orderBy("at", "run")
    all_of_them = looks.withColumn("before", F.lag("at").over(in_order))
    later = all_of_them.join(known, [*PAIR], "left").where(F.col("last").isNull() | (_order() > F.col("last")))
    return later.select("run", *PAIR, F.col("at").alias("look_at"), "before", F.row_number().over(in_order).alias("n"))


def _marks(drift: DataFrame, fresh: DataFrame, past: DataFrame) -> DataFrame:
    """What each look says of each thing: `about` where it saw it drifted, `hides` where nobody could tell, `past` where
    an earlier history leaves it, `why` where it no longer counts. It says nothing of what it found in order."""
    said = drift.where("address is not null").join(fresh, ["run", *PAIR], "inner")
    told = said.select(
        *PAIR, "address", spot().alias("spot"), "n",
        F.when(counts(), F.struct(*ABOUT)).alias("about"),
        F.when(_is_ignored(), "ignored").alias("why"),
        F.when(F.col("path").isNull(), F.col("standing")).alias("whole"),
    )  # fmt: skip
    each = past.withColumn("spot", spot()).groupBy(*THING)
    latest = each.agg(F.max_by(F.struct(*ABOUT, *PAST), "occurrence").alias("past"))
    carried = latest.withColumn("n", F.when(F.col("past.closed").isNull(), 0).otherwise(-1))
    return _spread(told.unionByName(carried, allowMissingColumns=True))


def spot() -> Column:
    """Where in the object: the path, or nothing for the object as a whole."""
    return F.coalesce("path", F.lit(""))


def _spread(said: DataFrame) -> DataFrame:
    """What is said of an object as a whole is said of each thing in it: one that is gone or somebody else's hides its
    fields; one that could not be read, or waits to be made, deleted or finished, hides itself too."""
    is_thing = F.col("about").isNotNull() | F.col("past").isNotNull()
    things = F.collect_set(F.when(is_thing, F.col("spot"))).over(Window.partitionBy(*PAIR, "address"))
    itself = F.array("spot")
    reaches = F.when(F.col("whole").isNotNull(), F.array_union(itself, "things")).otherwise(itself)
    each = said.withColumn("things", things).withColumn("reached", F.explode(reaches))
    own, whole = F.col("reached") == F.col("spot"), F.col("whole")
    hides = whole.isin("unknown", "pending") | (whole.isin("missing", "foreign") & (F.col("reached") != ""))
    why = F.coalesce(F.when(own, F.col("why")), F.when(whole == "orphaned", "undeclared"))
    return each.groupBy(*PAIR, "address", F.col("reached").alias("spot"), "n").agg(
        F.first(F.when(own, F.col("about")), ignorenulls=True).alias("about"),
        F.first(F.when(own, F.col("past")), ignorenulls=True).alias("past"),
        F.coalesce(F.bool_or(hides), F.lit(False)).alias("hides"),
        F.min(why).alias("why"),
    )


def _episodes(marks: DataFrame) -> DataFrame:
    """Marks on consecutive looks are one episode; the first look without one closes it, and may say why."""
    thing = Window.partitionBy(*THING)
    stays = F.col("about").isNotNull() | F.col("past").isNotNull() | F.col("hides")
    passed = F.sum(F.col("stays").cast("int")).over(thing.orderBy("n"))
    island = F.col("n") - passed - (~F.col("stays")).cast("int")  # what closes it belongs to it
    found = marks.withColumn("stays", stays).withColumn("island", island).groupBy(*THING, "island")
    seen_at = F.when(F.col("about").isNotNull(), F.col("n"))
    told = found.agg(
        F.max_by("about", seen_at).alias("about"),
        F.first("past", ignorenulls=True).alias("past"),
        F.count("about").alias("times"),
        F.min(seen_at).alias("first_n"),
        F.max(seen_at).alias("last_n"),
        (F.max(F.when(F.col("stays"), F.col("n"))) + 1).alias("closed_n"),
        F.first(F.when(~F.col("stays"), F.col("why")), ignorenulls=True).alias("why"),
    ).where("times > 0 or past is not null")  # fmt: skip
    earlier = F.coalesce(F.max("past.occurrence").over(thing), F.lit(1)) - 1
    occurrence = earlier + F.row_number().over(thing.orderBy("island"))
    return told.withColumn("occurrence", occurrence).where("past.closed is null")


def _dated(episodes: DataFrame, fresh: DataFrame) -> DataFrame:
    """When and in which runs, from the numbers of the looks."""
    in_order = F.sort_array(F.collect_list(F.struct("n", F.col("look_at").alias("at"), "run", "before")))
    row = episodes.join(fresh.groupBy(*PAIR).agg(in_order.alias("looks_here")), [*PAIR], "left")
    for what in ("first", "last", "closed"):
        row = row.withColumn(what, F.get("looks_here", F.col(f"{what}_n") - 1))
    took = F.col("closed.at").cast("double") - F.coalesce("past.opened", "first.at").cast("double")
    ended = F.when(F.col("closed").isNotNull(), F.coalesce("why", F.lit("repaired")))
    return row.select(
        "target", "topology", "address", "occurrence",
        F.nullif("spot", F.lit("")).alias("path"),
        F.nullif(F.regexp_replace("spot", r"\[\d+\]", ""), F.lit("")).alias("field"),
        *(F.coalesce(f"about.{name}", f"past.{name}").alias(name) for name in ABOUT),
        F.when(F.col("past").isNull(), F.col("first.before")).otherwise(F.col("past.clean")).alias("clean"),
        F.coalesce("past.opened", "first.at").alias("opened"),
        F.coalesce("past.opened_run", "first.run").alias("opened_run"),
        F.coalesce("last.at", "past.last_seen").alias("last_seen"),
        F.coalesce("last.run", "past.last_seen_run").alias("last_seen_run"),
        (F.col("times") + F.coalesce("past.looks", F.lit(0))).alias("looks"),
        F.col("closed.at").alias("closed"),
        F.col("closed.run").alias("closed_run"),
        ended.alias("ended"),
        F.when(ended == "repaired", took).alias("seconds"),
    )  # fmt: skip


def _state() -> Column:
    return (
        F.when(F.col("closed").isNotNull(), "closed")
        .when(F.col("last_seen_run") == F.col("newest"), "open")
        .otherwise("unseen")
    )
