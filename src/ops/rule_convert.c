/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of data type: Cast takes the stored number, the others the real value. */
#include "ops/op_rules.h"

RULE(cast)
{
    rule_shape_of(&want[0], c->in[0]);
    REFUSE_IF(want[0].type == DT_NONE, c, "output 0 has no data type; it says what to cast to");
    return ST_OK;
}

RULE(convert)
{
    TRY(rule_cast(c, want));
    TRY(rule_encoded(c, c->in[0], "input 0"));
    return rule_encoded(c, &want[0], "output 0");
}

RULE(quantize)
{
    rule_shape_of(&want[0], c->in[0]);
    REFUSE_IF(want[0].type == DT_NONE, c, "output 0 has no data type; it says what to quantize to");
    return rule_encoded(c, &want[0], "output 0");
}

RULE(dequantize)
{
    rule_shape_of(&want[0], c->in[0]);
    rule_type_free(&want[0], DT_F32);
    return rule_encoded(c, c->in[0], "input 0");
}
