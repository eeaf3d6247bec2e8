package awscloudwatch

import (
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// criteriaDocument is what the column evaluation_criteria holds: of a union, the one member that there is.
type criteriaDocument struct{ PromQLCriteria *cwtypes.AlarmPromQLCriteria }

// criteria are read and written as the member of the union that they are. One that the SDK does not know is not shown.
var criteria = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		switch m := member.(type) {
		case cwtypes.EvaluationCriteriaMemberPromQLCriteria:
			return aws.Document(criteriaDocument{&m.Value})
		case *cwtypes.EvaluationCriteriaMemberPromQLCriteria:
			return aws.Document(criteriaDocument{&m.Value})
		}
		return modules.Null, nil
	},
	Encode: func(v modules.Value) (any, error) {
		var d criteriaDocument
		if err := aws.ParseDocument("evaluation_criteria", v, &d); err != nil || d.PromQLCriteria == nil {
			return nil, err
		}
		return &cwtypes.EvaluationCriteriaMemberPromQLCriteria{Value: *d.PromQLCriteria}, nil
	},
}

// windowDocument is what the column evaluation_window holds: a window that slides, as one does without it, is none.
type windowDocument struct{ WallClockWindow *cwtypes.WallClockWindow }

// window is read and written as the member of the union that it is.
var window = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		d := windowDocument{}
		switch m := member.(type) {
		case cwtypes.EvaluationWindowMemberWallClockWindow:
			d.WallClockWindow = &m.Value
		case *cwtypes.EvaluationWindowMemberWallClockWindow:
			d.WallClockWindow = &m.Value
		default:
			return modules.Null, nil
		}
		inUTC(&d)
		return aws.Document(d)
	},
	Encode: func(v modules.Value) (any, error) {
		var d windowDocument
		if err := aws.ParseDocument("evaluation_window", v, &d); err != nil || d.WallClockWindow == nil {
			return nil, err
		}
		return &cwtypes.EvaluationWindowMemberWallClockWindow{Value: *d.WallClockWindow}, nil
	},
}

// inUTC fills in the time zone that is meant where none is said (page WallClockWindow).
func inUTC(d *windowDocument) {
	if d.WallClockWindow != nil && d.WallClockWindow.Timezone == nil {
		utc := "UTC"
		d.WallClockWindow.Timezone = &utc
	}
}
